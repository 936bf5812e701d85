// The prelude's arithmetic as functions over arrays, for semantics.py.
#include "shim.h"
#include "../../src/prelude/base.cuh"
#include "convert.cuh"
#include "../../src/prelude/half.cuh"
#include "../../src/prelude/arith.cuh"
#include "../../src/prelude/complex.cuh"
#include "../../src/prelude/complex_math.cuh"
#include "../../src/prelude/math.cuh"
#include "../../src/prelude/special.cuh"
#define U1(n,T,e) extern "C" void n(const T*a,const T*b,T*o,long k){for(long i=0;i<k;i++){o[i]=e;}}
#define B1(n,T,e) extern "C" void n(const T*a,const T*b,bool*o,long k){for(long i=0;i<k;i++){o[i]=e;}}
#define NUM(s,T) U1(add_##s,T,add(a[i],b[i])) U1(subtract_##s,T,sub(a[i],b[i])) U1(multiply_##s,T,mul(a[i],b[i])) U1(negative_##s,T,neg(a[i]))  U1(maximum_##s,T,maximum(a[i],b[i])) U1(minimum_##s,T,minimum(a[i],b[i])) U1(fmax_##s,T,fmax_(a[i],b[i])) U1(fmin_##s,T,fmin_(a[i],b[i])) U1(sign_##s,T,sign(a[i]))  B1(less_##s,T,less(a[i],b[i])) B1(less_equal_##s,T,less_equal(a[i],b[i])) B1(equal_##s,T,equal(a[i],b[i]))
#define REAL(s,T) NUM(s,T) U1(floor_divide_##s,T,floor_divide(a[i],b[i])) U1(remainder_##s,T,remainder_(a[i],b[i])) U1(fmod_##s,T,fmod_(a[i],b[i])) U1(absolute_##s,T,absolute(a[i]))
#define INT(s,T) REAL(s,T) U1(left_shift_##s,T,left_shift(a[i],b[i])) U1(right_shift_##s,T,right_shift(a[i],b[i])) U1(gcd_##s,T,gcd(a[i],b[i])) U1(lcm_##s,T,lcm(a[i],b[i])) U1(bitwise_and_##s,T,bit_and(a[i],b[i])) U1(invert_##s,T,bit_not(a[i]))
INT(int8,int8) INT(int16,int16) INT(int32,int32) INT(int64,int64) INT(uint8,uint8) INT(uint16,uint16) INT(uint32,uint32) INT(uint64,uint64)
#define INEX(s,T) U1(divide_##s,T,div(a[i],b[i])) U1(sqrt_##s,T,sqrt_(a[i])) U1(exp_##s,T,exp_(a[i])) U1(exp2_##s,T,exp2_(a[i])) U1(expm1_##s,T,expm1_(a[i])) U1(log_##s,T,log_(a[i])) U1(log2_##s,T,log2_(a[i])) U1(log10_##s,T,log10_(a[i])) U1(log1p_##s,T,log1p_(a[i]))  U1(sin_##s,T,sin_(a[i])) U1(cos_##s,T,cos_(a[i])) U1(tan_##s,T,tan_(a[i])) U1(arcsin_##s,T,asin_(a[i])) U1(arccos_##s,T,acos_(a[i])) U1(arctan_##s,T,atan_(a[i])) U1(sinh_##s,T,sinh_(a[i])) U1(cosh_##s,T,cosh_(a[i])) U1(tanh_##s,T,tanh_(a[i])) U1(arcsinh_##s,T,asinh_(a[i])) U1(arccosh_##s,T,acosh_(a[i])) U1(arctanh_##s,T,atanh_(a[i]))  U1(rint_##s,T,rint_(a[i])) U1(reciprocal_##s,T,reciprocal(a[i])) U1(square_##s,T,mul(a[i],a[i])) U1(power_##s,T,power(a[i],b[i]))
#define FLT(s,T) REAL(s,T) INEX(s,T) U1(cbrt_##s,T,cbrt_(a[i])) U1(hypot_##s,T,hypot_(a[i],b[i])) U1(copysign_##s,T,copysign_(a[i],b[i])) U1(nextafter_##s,T,nextafter_(a[i],b[i])) U1(spacing_##s,T,spacing(a[i])) U1(heaviside_##s,T,heaviside(a[i],b[i])) U1(logaddexp_##s,T,logaddexp(a[i],b[i])) U1(logaddexp2_##s,T,logaddexp2(a[i],b[i])) U1(arctan2_##s,T,atan2_(a[i],b[i])) U1(degrees_##s,T,degrees(a[i])) U1(radians_##s,T,radians(a[i])) U1(floor_##s,T,floor_(a[i])) U1(ceil_##s,T,ceil_(a[i])) U1(trunc_##s,T,trunc_(a[i]))
FLT(float16,half) FLT(float32,float) FLT(float64,double)
NUM(complex64,complex64) INEX(complex64,complex64) NUM(complex128,complex128) INEX(complex128,complex128)
#define SP(s,T) U1(digamma_##s,T,digamma_(a[i])) U1(gamma_##s,T,gamma_(a[i])) U1(gammaln_##s,T,gammaln_(a[i])) U1(expit_##s,T,expit(a[i])) U1(sinc_##s,T,sinc(a[i])) U1(ndtr_##s,T,ndtr(a[i])) U1(i0_##s,T,bessel_i0(a[i]))
SP(float32,float) SP(float64,double)
#define C(s,T,d,D) extern "C" void cast_##s##_##d(const T*a,const T*b,D*o,long k){for(long i=0;i<k;i++)o[i]=cast<D>(a[i]);}
#define CS(s,T) C(s,T,bool,bool) C(s,T,int8,int8) C(s,T,int16,int16) C(s,T,int32,int32) C(s,T,int64,int64) C(s,T,uint8,uint8) C(s,T,uint16,uint16) C(s,T,uint32,uint32) C(s,T,uint64,uint64) C(s,T,float16,half) C(s,T,float32,float) C(s,T,float64,double) C(s,T,complex64,complex64)
CS(float16,half) CS(float32,float) CS(float64,double) CS(int64,int64) CS(int8,int8) CS(uint64,uint64) CS(complex128,complex128)
