; opt-22 -passes=loop-vectorize -S llvm-division.ll: see llvm-division.md
target triple = "x86_64-unknown-linux-gnu"

; for (i = 0; i < n; ++i)  if (reached[i]) out[i] = y[i] + x[32767 % n];
define void @k(ptr noalias %reached, ptr noalias %x, ptr noalias %y, ptr noalias %out, i64 %n) #0 {
entry:
  br label %loop

loop:
  %i = phi i64 [ 0, %entry ], [ %next, %end ]
  %r.at = getelementptr inbounds i8, ptr %reached, i64 %i
  %r = load i8, ptr %r.at, align 1
  %is = icmp ne i8 %r, 0
  br i1 %is, label %then, label %end

then:
  %q = urem i64 32767, %n
  %x.at = getelementptr inbounds i64, ptr %x, i64 %q
  %v = load i64, ptr %x.at, align 8
  %y.at = getelementptr inbounds i64, ptr %y, i64 %i
  %w = load i64, ptr %y.at, align 8
  %sum = add i64 %v, %w
  %out.at = getelementptr inbounds i64, ptr %out, i64 %i
  store i64 %sum, ptr %out.at, align 8
  br label %end

end:
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %exit

exit:
  ret void
}

attributes #0 = { "target-cpu"="x86-64-v4" }
