// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"

namespace weir::hipsim::test {

const char* const kernels_ir = R"(
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workitem.id.y()
declare i32 @llvm.amdgcn.workitem.id.z()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workgroup.id.y()
declare i32 @llvm.amdgcn.workgroup.id.z()
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
declare void @llvm.amdgcn.s.barrier()
declare float @llvm.sqrt.f32(float)
declare void @llvm.trap()

@tile = internal addrspace(3) global [256 x float] poison, align 16
@counter = protected addrspace(1) global i32 7, align 4
@table = internal addrspace(4) constant [4 x i32] [i32 3, i32 5, i32 7, i32 11], align 16

define internal i32 @global_id() alwaysinline {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %p = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %s = getelementptr i8, ptr addrspace(4) %p, i64 12
  %n = load i16, ptr addrspace(4) %s
  %w = zext i16 %n to i32
  %m = mul i32 %g, %w
  %r = add i32 %m, %t
  ret i32 %r
}

; out[i] = a[i] + b[i] for i < n
define amdgpu_kernel void @add(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b, i32 %n) {
  %i = call i32 @global_id()
  %inside = icmp ult i32 %i, %n
  br i1 %inside, label %work, label %end
work:
  %pa = getelementptr float, ptr addrspace(1) %a, i32 %i
  %pb = getelementptr float, ptr addrspace(1) %b, i32 %i
  %x = load float, ptr addrspace(1) %pa
  %y = load float, ptr addrspace(1) %pb
  %z = fadd float %x, %y
  %po = getelementptr float, ptr addrspace(1) %out, i32 %i
  store float %z, ptr addrspace(1) %po
  br label %end
end:
  ret void
}

; out[block] = sum of a over the block of 256, by halving in LDS
define amdgpu_kernel void @reduce(ptr addrspace(1) %out, ptr addrspace(1) %a) "amdgpu-flat-work-group-size"="256,256" {
entry:
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %base = mul i32 %g, 256
  %i = add i32 %base, %t
  %pa = getelementptr float, ptr addrspace(1) %a, i32 %i
  %x = load float, ptr addrspace(1) %pa
  %mine = getelementptr float, ptr addrspace(3) @tile, i32 %t
  store float %x, ptr addrspace(3) %mine
  br label %loop
loop:
  %half = phi i32 [128, %entry], [%next, %joined]
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %active = icmp ult i32 %t, %half
  br i1 %active, label %sum, label %joined
sum:
  %other = add i32 %t, %half
  %po = getelementptr float, ptr addrspace(3) @tile, i32 %other
  %y = load float, ptr addrspace(3) %po
  %m = load float, ptr addrspace(3) %mine
  %s = fadd float %m, %y
  store float %s, ptr addrspace(3) %mine
  br label %joined
joined:
  %next = lshr i32 %half, 1
  %more = icmp ne i32 %next, 0
  br i1 %more, label %loop, label %done
done:
  %first = icmp eq i32 %t, 0
  br i1 %first, label %write, label %end
write:
  %r = load float, ptr addrspace(3) @tile
  %pr = getelementptr float, ptr addrspace(1) %out, i32 %g
  store float %r, ptr addrspace(1) %pr
  br label %end
end:
  ret void
}

; sums the block without a barrier: a race
define amdgpu_kernel void @racy(ptr addrspace(1) %out) "amdgpu-flat-work-group-size"="256,256" {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %mine = getelementptr i32, ptr addrspace(3) @tile, i32 %t
  store volatile i32 %t, ptr addrspace(3) %mine
  %o = xor i32 %t, 128
  %other = getelementptr i32, ptr addrspace(3) @tile, i32 %o
  %x = load volatile i32, ptr addrspace(3) %other
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %x, ptr addrspace(1) %po
  ret void
}

; *sum += id for every item of the grid; LLVM turns it into a scan over the wave
define amdgpu_kernel void @count(ptr addrspace(1) %sum, ptr addrspace(1) %ticket) {
  %i = call i32 @global_id()
  %old = atomicrmw add ptr addrspace(1) %sum, i32 %i syncscope("agent") monotonic
  %t = atomicrmw add ptr addrspace(1) @counter, i32 1 syncscope("agent") monotonic
  %p = getelementptr i32, ptr addrspace(1) %ticket, i32 %i
  store i32 %t, ptr addrspace(1) %p
  ret void
}

; *sum += a[i], and *top = max, as floating point
define amdgpu_kernel void @float_atomics(ptr addrspace(1) %sum, ptr addrspace(1) %top, ptr addrspace(1) %a) {
  %i = call i32 @global_id()
  %p = getelementptr double, ptr addrspace(1) %a, i32 %i
  %x = load double, ptr addrspace(1) %p
  %o = atomicrmw fadd ptr addrspace(1) %sum, double %x syncscope("agent") monotonic
  %q = atomicrmw fmax ptr addrspace(1) %top, double %x syncscope("agent") monotonic
  ret void
}

; an array of each item, indexed by values: private memory
define amdgpu_kernel void @scratch(ptr addrspace(1) %out, i32 %n) {
entry:
  %a = alloca [16 x i32], align 16, addrspace(5)
  %i = call i32 @global_id()
  br label %fill
fill:
  %k = phi i32 [0, %entry], [%k1, %fill]
  %m = mul i32 %k, 7
  %mn = add i32 %m, %n
  %s = and i32 %mn, 15
  %p = getelementptr i32, ptr addrspace(5) %a, i32 %s
  %v = mul i32 %k, %i
  store volatile i32 %v, ptr addrspace(5) %p
  %k1 = add i32 %k, 1
  %more = icmp ult i32 %k1, 16
  br i1 %more, label %fill, label %read
read:
  %j = and i32 %i, 15
  %q = getelementptr i32, ptr addrspace(5) %a, i32 %j
  %flat = addrspacecast ptr addrspace(5) %q to ptr
  %r = load volatile i32, ptr %flat
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %i
  store i32 %r, ptr addrspace(1) %po
  ret void
}

define internal i32 @collatz(i32 %start) noinline {
entry:
  br label %loop
loop:
  %x = phi i32 [%start, %entry], [%y, %loop]
  %n = phi i32 [0, %entry], [%n1, %loop]
  %odd = and i32 %x, 1
  %is = icmp eq i32 %odd, 1
  %h = lshr i32 %x, 1
  %t = mul i32 %x, 3
  %t1 = add i32 %t, 1
  %y = select i1 %is, i32 %t1, i32 %h
  %n1 = add i32 %n, 1
  %done = icmp ule i32 %y, 1
  br i1 %done, label %end, label %loop
end:
  ret i32 %n1
}

; calls a function whose loop has a different length for each item
define amdgpu_kernel void @call_function(ptr addrspace(1) %out) {
  %i = call i32 @global_id()
  %s = add i32 %i, 1
  %r = call i32 @collatz(i32 %s)
  %k = and i32 %i, 3
  %pt = getelementptr [4 x i32], ptr addrspace(4) @table, i32 0, i32 %k
  %c = load i32, ptr addrspace(4) %pt
  %rc = mul i32 %r, %c
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %i
  store i32 %rc, ptr addrspace(1) %po
  ret void
}

; integer and floating division, square roots
define amdgpu_kernel void @divide(ptr addrspace(1) %d, ptr addrspace(1) %l, ptr addrspace(1) %f, ptr addrspace(1) %a, ptr addrspace(1) %b) {
  %i = call i32 @global_id()
  %pa = getelementptr i64, ptr addrspace(1) %a, i32 %i
  %pb = getelementptr i64, ptr addrspace(1) %b, i32 %i
  %x = load i64, ptr addrspace(1) %pa
  %y = load i64, ptr addrspace(1) %pb
  %q = sdiv i64 %x, %y
  %pl = getelementptr i64, ptr addrspace(1) %l, i32 %i
  store i64 %q, ptr addrspace(1) %pl
  %dx = sitofp i64 %x to double
  %dy = sitofp i64 %y to double
  %dq = fdiv double %dx, %dy
  %pd = getelementptr double, ptr addrspace(1) %d, i32 %i
  store double %dq, ptr addrspace(1) %pd
  %fx = sitofp i64 %x to float
  %abs = bitcast float %fx to i32
  %pos = and i32 %abs, 2147483647
  %fp = bitcast i32 %pos to float
  %root = call float @llvm.sqrt.f32(float %fp)
  %fy = sitofp i64 %y to float
  %fq = fdiv float %root, %fy
  %pf = getelementptr float, ptr addrspace(1) %f, i32 %i
  store float %fq, ptr addrspace(1) %pf
  ret void
}

; out[place in the grid] = all six ids packed, in three dimensions
define amdgpu_kernel void @ids(ptr addrspace(1) %out) {
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  %y = call i32 @llvm.amdgcn.workitem.id.y()
  %z = call i32 @llvm.amdgcn.workitem.id.z()
  %gx = call i32 @llvm.amdgcn.workgroup.id.x()
  %gy = call i32 @llvm.amdgcn.workgroup.id.y()
  %gz = call i32 @llvm.amdgcn.workgroup.id.z()
  %z1 = mul i32 %z, 3
  %zy = add i32 %z1, %y
  %zy1 = mul i32 %zy, 5
  %item = add i32 %zy1, %x
  %b1 = mul i32 %gz, 3
  %b2 = add i32 %b1, %gy
  %b3 = mul i32 %b2, 4
  %block = add i32 %b3, %gx
  %first = mul i32 %block, 30
  %at = add i32 %first, %item
  %s1 = shl i32 %y, 4
  %s2 = shl i32 %z, 8
  %s3 = shl i32 %gx, 12
  %s4 = shl i32 %gy, 16
  %s5 = shl i32 %gz, 20
  %o1 = or i32 %x, %s1
  %o2 = or i32 %o1, %s2
  %o3 = or i32 %o2, %s3
  %o4 = or i32 %o3, %s4
  %o5 = or i32 %o4, %s5
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %at
  store i32 %o5, ptr addrspace(1) %po
  ret void
}

; keeps 32 numbers per item in registers, reads the one at the index in a scalar, and writes the next one
define amdgpu_kernel void @indexed(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %index) {
  %item = call i32 @llvm.amdgcn.workitem.id.x()
  %first = mul i32 %item, 32
  %pi = getelementptr i32, ptr addrspace(1) %in, i32 %first
  %v = load <32 x i32>, ptr addrspace(1) %pi, align 4
  %picked = extractelement <32 x i32> %v, i32 %index
  %next = add i32 %index, 1
  %w = insertelement <32 x i32> %v, i32 %picked, i32 %next
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %first
  store <32 x i32> %w, ptr addrspace(1) %po, align 4
  ret void
}

; never ends
define amdgpu_kernel void @endless(ptr addrspace(1) %out) {
entry:
  br label %loop
loop:
  store volatile i32 1, ptr addrspace(1) %out
  br label %loop
}

; stops itself
define amdgpu_kernel void @stops() {
  call void @llvm.trap()
  unreachable
}
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
)";

}  // namespace weir::hipsim::test
