target triple = "x86_64-unknown-linux-gnu"
define void @f(ptr %a, ptr %x, ptr %o) "target-cpu"="x86-64-v4" "target-features"="-prefer-256-bit" {
  %b = load <8 x i8>, ptr %a, align 8
  %m = icmp eq <8 x i8> %b, zeroinitializer
  %v = tail call <8 x i64> @llvm.masked.load.v8i64.p0(ptr align 8 %x, <8 x i1> %m, <8 x i64> poison)
  call void asm sideeffect "", "~{k1},~{k2},~{k3},~{k4},~{k5},~{k6},~{k7},~{memory}"()
  %c = icmp sgt <8 x i64> %v, splat (i64 7)
  %z = zext <8 x i1> %c to <8 x i8>
  tail call void @llvm.masked.store.v8i8.p0(<8 x i8> %z, ptr align 1 %o, <8 x i1> %m)
  ret void
}
