use super::super::finish;
use super::*;

const OK: LtStatus = LtStatus::SUCCESS;

/// Sets an attribute by a function of the library.
macro_rules! set {
    ($function:ident, $object:expr, $which:expr, $value:expr) => {{
        let value = $value;
        // SAFETY: the value is read during the call.
        assert_eq!(unsafe { $function($object, $which, (&raw const value).cast(), size_of_val(&value)) }, OK);
    }};
}

/// A column-major operand: extents, leading dimension and batch stride.
#[derive(Clone, Copy)]
struct Operand(cudaDataType_t, [u64; 2], i64, i64);

/// A product with its descriptors, which are leaked.
struct Bench {
    handle: cublasLtHandle_t,
    desc: cublasLtMatmulDesc_t,
    layouts: [cublasLtMatrixLayout_t; 4],
    alignment: u32,
}

impl Bench {
    fn new(compute: Compute, scale: cudaDataType_t, operands: [Operand; 3], batch: i32) -> Bench {
        let (mut handle, mut desc) = (std::ptr::null_mut(), std::ptr::null_mut());
        let [a, b, d] = operands.map(|Operand(element, [rows, columns], leading, stride)| {
            let mut layout = std::ptr::null_mut();
            // SAFETY: the call writes one descriptor.
            assert_eq!(unsafe { cublasLtMatrixLayoutCreate(&raw mut layout, element, rows, columns, leading) }, OK);
            let count = LayoutAttribute::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT;
            set!(cublasLtMatrixLayoutSetAttribute, layout, count, batch);
            let offset = LayoutAttribute::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET;
            set!(cublasLtMatrixLayoutSetAttribute, layout, offset, stride);
            layout
        });
        // SAFETY: the calls write one handle each.
        unsafe {
            assert_eq!(cublasLtCreate(&raw mut handle), OK);
            assert_eq!(cublasLtMatmulDescCreate(&raw mut desc, compute, scale), OK);
        }
        Bench { handle, desc, layouts: [a, b, d, d], alignment: 1 }
    }

    fn transposed(self, a: bool, b: bool) -> Bench {
        for (which, transposed) in
            [(DescAttribute::CUBLASLT_MATMUL_DESC_TRANSA, a), (DescAttribute::CUBLASLT_MATMUL_DESC_TRANSB, b)]
        {
            set!(cublasLtMatmulDescSetAttribute, self.desc, which, u32::from(transposed));
        }
        self
    }

    fn epilogue(self, epilogue: LtEpilogue, bias: usize) -> Bench {
        set!(cublasLtMatmulDescSetAttribute, self.desc, DescAttribute::CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue.0);
        set!(cublasLtMatmulDescSetAttribute, self.desc, DescAttribute::CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
        self
    }

    /// Requests the algorithm.
    fn algorithm(&self) -> std::result::Result<cublasLtMatmulHeuristicResult_t, LtStatus> {
        let mut preference = std::ptr::null_mut();
        // SAFETY: the call writes one handle.
        assert_eq!(unsafe { cublasLtMatmulPreferenceCreate(&raw mut preference) }, OK);
        for which in [
            PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
            PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
            PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
            PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
        ] {
            set!(cublasLtMatmulPreferenceSetAttribute, preference, which, self.alignment);
        }
        let mut found = std::mem::MaybeUninit::uninit();
        let (mut count, [a, b, c, d]) = (0, self.layouts);
        // SAFETY: there is room for one result, which is read if the call succeeds.
        unsafe {
            let (handle, desc) = (self.handle, self.desc);
            let (to, count_to) = (found.as_mut_ptr(), &raw mut count);
            let status = cublasLtMatmulAlgoGetHeuristic(handle, desc, a, b, c, d, preference, 1, to, count_to);
            assert_eq!(cublasLtMatmulPreferenceDestroy(preference), OK);
            if status == OK && count == 1 { Ok(found.assume_init()) } else { Err(status) }
        }
    }

    fn run<T, S, Out>(&self, [alpha, beta]: [S; 2], a: &[T], b: &[T], c: *const Out, d: &mut [Out]) -> LtStatus {
        let algorithm = match self.algorithm() {
            Ok(found) => found.algo,
            Err(status) => return status,
        };
        let [a_layout, b_layout, c_layout, d_layout] = self.layouts;
        // SAFETY: the operands live until the work is done.
        let status = unsafe {
            cublasLtMatmul(
                self.handle,
                self.desc,
                (&raw const alpha).cast(),
                a.as_ptr().cast(),
                a_layout,
                b.as_ptr().cast(),
                b_layout,
                (&raw const beta).cast(),
                c.cast(),
                c_layout,
                d.as_mut_ptr().cast(),
                d_layout,
                &raw const algorithm,
                std::ptr::null_mut(),
                0,
                std::ptr::null_mut(),
            )
        };
        finish();
        status
    }
}

const F32: cudaDataType_t = cudaDataType_t::CUDA_R_32F;

fn floats(compute: Compute, operands: [Operand; 3], batch: i32) -> Bench {
    Bench::new(compute, F32, operands, batch)
}

fn integers(n: usize, step: usize, modulus: usize) -> Vec<f32> {
    (0..n).map(|i| (i * step % modulus) as f32 - (modulus / 2) as f32).collect()
}

/// Returns the column-major product of m × k and k × n matrices without gaps.
fn naive(a: impl Fn(usize, usize) -> f32, b: impl Fn(usize, usize) -> f32, [m, k, n]: [usize; 3]) -> Vec<f32> {
    (0..m * n).map(|at| (0..k).map(|l| a(at % m, l) * b(l, at / m)).sum()).collect()
}

#[test]
fn transposes_leading_dimensions_and_batches() {
    let [m, k, n] = [3, 5, 4];
    for (ta, tb) in [(false, false), (true, false), (false, true), (true, true)] {
        let shape = |rows: usize, columns: usize, t: bool| if t { [columns, rows] } else { [rows, columns] };
        let (a_shape, b_shape) = (shape(m, k, ta), shape(k, n, tb));
        // Gaps in a and d; b is one matrix for both products.
        let (lda, ldb, ldd) = (a_shape[0] + 2, b_shape[0], m + 1);
        let (a_size, d_size) = (lda * a_shape[1], ldd * n);
        let (a, b) = (integers(2 * a_size, 7, 11), integers(ldb * b_shape[1], 5, 13));
        let extents = |shape: [usize; 2]| shape.map(|n| n as u64);
        let operands = [
            Operand(F32, extents(a_shape), lda as i64, a_size as i64),
            Operand(F32, extents(b_shape), ldb as i64, 0),
            Operand(F32, [m as u64, n as u64], ldd as i64, d_size as i64),
        ];
        let mut d = vec![-99.0; 2 * d_size];
        let bench = floats(Compute::CUBLAS_COMPUTE_32F, operands, 2).transposed(ta, tb);
        assert_eq!(bench.run([2f32, 0.0], &a, &b, std::ptr::null(), &mut d), OK);
        for index in 0..2 {
            let a = &a[index * a_size..];
            let at_a = |i: usize, l: usize| if ta { a[l + i * lda] } else { a[i + l * lda] };
            let at_b = |l: usize, j: usize| if tb { b[j + l * ldb] } else { b[l + j * ldb] };
            for (at, x) in naive(at_a, at_b, [m, k, n]).into_iter().enumerate() {
                assert_eq!(d[index * d_size + at % m + at / m * ldd], 2.0 * x);
            }
            assert_eq!(d[index * d_size + m], -99.0, "a gap is not written");
        }
    }
}

#[test]
fn bias_addend_and_activations() {
    let [m, k, n] = [4usize, 3, 5];
    let (a, b) = (integers(m * k, 7, 11), integers(k * n, 5, 13));
    let (bias, addend) = (integers(m, 3, 5), integers(m * n, 3, 7));
    let product = naive(|i, l| a[i + l * m], |l, j| b[l + j * k], [m, k, n]);
    let dense = |rows: usize, columns: usize| Operand(F32, [rows as u64, columns as u64], rows as i64, 0);
    let bench = || {
        let bench = floats(Compute::CUBLAS_COMPUTE_32F_FAST_TF32, [dense(m, k), dense(k, n), dense(m, n)], 1);
        Bench { alignment: 4, ..bench }
    };
    let sum: Vec<f32> = (0..m * n).map(|at| 2.0 * product[at] - 3.0 * addend[at] + bias[at % m]).collect();
    let mut d = vec![f32::NAN; m * n];
    let with_bias = bench().epilogue(LtEpilogue::CUBLASLT_EPILOGUE_BIAS, bias.as_ptr().addr());
    assert_eq!(with_bias.run([2f32, -3.0], &a, &b, addend.as_ptr(), &mut d), OK);
    assert_eq!(d, sum);
    let mut in_place = addend.clone();
    let memory = in_place.as_ptr();
    assert_eq!(with_bias.run([2f32, -3.0], &a, &b, memory, &mut in_place), OK);
    assert_eq!(in_place, sum);
    let relu = bench().epilogue(LtEpilogue::CUBLASLT_EPILOGUE_RELU_BIAS, bias.as_ptr().addr());
    assert_eq!(relu.run([2f32, -3.0], &a, &b, addend.as_ptr(), &mut d), OK);
    assert!(d.iter().zip(&sum).all(|(x, y)| *x == y.max(0.0)));
    let gelu = bench().epilogue(LtEpilogue::CUBLASLT_EPILOGUE_GELU, 0);
    assert_eq!(gelu.run([0.01f32, 0.0], &a, &b, std::ptr::null(), &mut d), OK);
    for (x, y) in d.iter().zip(product.iter().map(|x| f64::from(x * 0.01))) {
        let expected = 0.5 * y * (1.0 + (0.797_884_560_8 * (y + 0.044_715 * y * y * y)).tanh());
        assert!((f64::from(*x) - expected).abs() < 1e-6);
    }
    assert_eq!(with_bias.run([1f32, 1.0], &a, &b, std::ptr::null(), &mut d), INVALID);
}

#[test]
fn half_precision_is_summed_in_float32() {
    let (k, one) = (4096usize, f16::from_f32(1.0));
    let row = vec![one; k];
    let shapes = |element, out| {
        [
            Operand(element, [1, k as u64], 1, 0),
            Operand(element, [k as u64, 1], k as i64, 0),
            Operand(out, [1, 1], 1, 0),
        ]
    };
    let half = cudaDataType_t::CUDA_R_16F;
    let mut sum = [f16::from_f32(0.0)];
    let bench = floats(Compute::CUBLAS_COMPUTE_32F, shapes(half, half), 1);
    assert_eq!(bench.run([1f32, 0.0], &row, &row, std::ptr::null(), &mut sum), OK);
    assert_eq!(sum[0].to_f32(), 4096.0);
    let short = vec![bf16::from_f32(1.5); k];
    let mut wide = [0f32];
    let bench = floats(Compute::CUBLAS_COMPUTE_32F, shapes(cudaDataType_t::CUDA_R_16BF, F32), 1);
    assert_eq!(bench.run([1f32, 0.0], &short, &short, std::ptr::null(), &mut wide), OK);
    assert_eq!(wide[0], 2.25 * 4096.0);
}

#[test]
fn complex_and_float64_products() {
    let square = |element| Operand(element, [2, 2], 2, 0);
    let a: Vec<Complex<f64>> = (0..4).map(|i| Complex::new(f64::from(i), 1.0 - f64::from(i))).collect();
    let b: Vec<Complex<f64>> = (0..4).map(|i| Complex::new(2.0, f64::from(i * i))).collect();
    let alpha = Complex::new(0.5, 2.0);
    let expected: Vec<_> =
        (0..4).map(|at| alpha * (a[at % 2] * b[at / 2 * 2] + a[at % 2 + 2] * b[at / 2 * 2 + 1])).collect();
    let c128 = cudaDataType_t::CUDA_C_64F;
    let mut d = vec![Complex::default(); 4];
    let bench = Bench::new(Compute::CUBLAS_COMPUTE_64F, c128, [square(c128); 3], 1);
    assert_eq!(bench.run([alpha, Complex::default()], &a, &b, std::ptr::null(), &mut d), OK);
    assert_eq!(d, expected);
    let short = |v: &[Complex<f64>]| v.iter().map(|z| Complex::new(z.re as f32, z.im as f32)).collect::<Vec<_>>();
    let c64 = cudaDataType_t::CUDA_C_32F;
    let mut d = vec![Complex::default(); 4];
    let bench = Bench::new(Compute::CUBLAS_COMPUTE_32F, c64, [square(c64); 3], 1);
    let factors = [Complex::new(0.5f32, 2.0), Complex::default()];
    assert_eq!(bench.run(factors, &short(&a), &short(&b), std::ptr::null(), &mut d), OK);
    assert_eq!(d, short(&expected));
    let f64s = cudaDataType_t::CUDA_R_64F;
    let (x, mut d) = (vec![1.0, 2.0, 3.0, 4.0], vec![0.0; 4]);
    let bench = Bench::new(Compute::CUBLAS_COMPUTE_64F, f64s, [square(f64s); 3], 1);
    assert_eq!(bench.run([1.0, 0.0], &x, &x, std::ptr::null(), &mut d), OK);
    assert_eq!(d, [7.0, 10.0, 15.0, 22.0]);
    let bias = bench.epilogue(LtEpilogue::CUBLASLT_EPILOGUE_BIAS, x.as_ptr().addr());
    assert_eq!(bias.run([1.0, 0.0], &x, &x, std::ptr::null(), &mut d), UNSUPPORTED);
}

#[test]
fn a_large_product_takes_no_seconds() {
    let n = 512usize;
    let (a, mut d) = (integers(n * n, 7, 11), vec![0f32; n * n]);
    let bench = floats(Compute::CUBLAS_COMPUTE_32F, [Operand(F32, [n as u64; 2], n as i64, 0); 3], 1);
    let start = std::time::Instant::now();
    assert_eq!(bench.run([1f32, 0.0], &a, &a, std::ptr::null(), &mut d), OK);
    assert!(start.elapsed().as_secs_f64() < 1.0);
    assert_eq!(d[n + 1], (0..n).map(|l| a[1 + l * n] * a[l + n]).sum());
}

#[test]
fn wrong_arguments_are_refused() {
    let dense = |rows, columns| Operand(F32, [rows, columns], rows as i64, 0);
    let refused = |operands, batch| floats(Compute::CUBLAS_COMPUTE_32F, operands, batch).algorithm().err();
    assert_eq!(refused([dense(2, 3), dense(4, 5), dense(2, 5)], 1), Some(INVALID));
    assert_eq!(refused([dense(2, 3), dense(3, 5), dense(2, 5)], 2), Some(INVALID), "both products have one result");
    let short = Operand(F32, [2, 3], 1, 0);
    assert_eq!(refused([short, dense(3, 5), dense(2, 5)], 1), Some(INVALID));
    let bytes = Operand(cudaDataType_t::CUDA_R_8I, [2, 3], 2, 0);
    assert_eq!(refused([bytes, dense(3, 5), dense(2, 5)], 1), Some(UNSUPPORTED));
    let wide = floats(Compute::CUBLAS_COMPUTE_64F, [dense(2, 3), dense(3, 5), dense(2, 5)], 1);
    assert_eq!(wide.algorithm().err(), Some(UNSUPPORTED));
    // An operand at an odd element, with an algorithm for aligned ones.
    let (memory, mut d) = (vec![0f32; 32], vec![0f32; 16]);
    let bench = floats(Compute::CUBLAS_COMPUTE_32F, [dense(2, 2), dense(2, 2), dense(2, 2)], 1);
    let bench = Bench { alignment: 8, ..bench };
    let odd = usize::from(memory.as_ptr().addr().is_multiple_of(8));
    assert_eq!(bench.run([1f32, 0.0], &memory[odd..], &memory, std::ptr::null(), &mut d), INVALID);
    // SAFETY: handles may be any number.
    unsafe {
        assert_eq!(cublasLtDestroy(bench.handle), OK);
        assert_eq!(cublasLtDestroy(bench.handle), INVALID);
        assert_eq!(cublasLtMatmulDescDestroy(bench.handle.cast()), INVALID);
        assert_eq!(cublasLtMatrixLayoutDestroy(bench.layouts[0]), OK);
        assert!(!cublasLtGetStatusString(LtStatus(99)).is_null());
    }
}
