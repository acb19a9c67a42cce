target triple = "x86_64-pc-linux-gnu"
define void @f(ptr noalias %a, ptr noalias %x, i64 %n) #0 {
entry:
  br label %loop
loop:
  %r = phi i64 [0, %entry], [%r1, %latch]
  %i0 = shl i64 %r, 1
  %i1 = or disjoint i64 %i0, 1
  %px0 = getelementptr float, ptr %x, i64 %i0
  %px1 = getelementptr float, ptr %x, i64 %i1
  %pa0 = getelementptr float, ptr %a, i64 %i0
  %pa1 = getelementptr float, ptr %a, i64 %i1
  %x0 = load float, ptr %px0, !llvm.access.group !0
  store float %x0, ptr %pa0, !llvm.access.group !0
  %c0 = fcmp ogt float %x0, 7.0
  br i1 %c0, label %then, label %next
then:
  store float 1000.0, ptr %pa0, !llvm.access.group !0
  br label %next
next:
  %x1 = load float, ptr %px1, !llvm.access.group !0
  store float %x1, ptr %pa1, !llvm.access.group !0
  br label %latch
latch:
  %r1 = add nuw nsw i64 %r, 1
  %d = icmp eq i64 %r1, %n
  br i1 %d, label %exit, label %loop, !llvm.loop !1
exit:
  ret void
}
attributes #0 = { "target-cpu"="znver4" "prefer-vector-width"="256" }
!0 = distinct !{}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.parallel_accesses", !0}
