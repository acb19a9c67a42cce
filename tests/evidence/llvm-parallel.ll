; Eight elements are updated `rounds` times. The inner loop's iterations are independent, those of the outer one are not.
target triple = "x86_64-unknown-linux-gnu"

define void @update(ptr %x, i64 %rounds) #0 {
entry:
  br label %round

round:
  %w = phi i64 [ 0, %entry ], [ %next, %done ]
  %again = icmp slt i64 %w, %rounds
  br i1 %again, label %body, label %return

body:
  %next = add i64 %w, 1
  br label %loop

loop:
  %i = phi i64 [ 0, %body ], [ %j, %loop ]
  %p = getelementptr inbounds i64, ptr %x, i64 %i
  %v = load i64, ptr %p, !llvm.access.group !2
  %twice = mul i64 %v, 3
  %u = sub i64 %twice, %i
  store i64 %u, ptr %p, !llvm.access.group !2
  %j = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %j, 8
  br i1 %more, label %loop, label %done, !llvm.loop !0

done:
  br label %round

return:
  ret void
}

attributes #0 = { "target-cpu"="x86-64-v4" }
!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.parallel_accesses", !2}
!2 = distinct !{}
