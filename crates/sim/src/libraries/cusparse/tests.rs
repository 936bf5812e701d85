use num_complex::Complex;

use super::super::finish;
use super::super::number::Element;
use super::*;

const OK: SpStatus = SpStatus::SUCCESS;
const PLAIN: Operation = Operation::CUSPARSE_OPERATION_NON_TRANSPOSE;
const TRANSPOSE: Operation = Operation::CUSPARSE_OPERATION_TRANSPOSE;

/// A matrix of 3 × 4 with an empty row.
const STARTS: [i64; 4] = [0, 2, 2, 5];
const COLUMNS: [i64; 5] = [1, 3, 0, 1, 2];

/// Returns y = alpha · op(a) · x + beta · y by the library, for `width` columns.
#[allow(clippy::too_many_arguments, reason = "those of the library")]
fn product<T: Element, I: Copy>(
    data_type: cudaDataType_t,
    (index_type, starts, columns): (cusparseIndexType_t, &[I], &[I]),
    values: &[T],
    op: Operation,
    x: &[T],
    y: &mut [T],
    width: usize,
    [alpha, beta]: [T; 2],
) -> SpStatus {
    let order = cusparseOrder_t::CUSPARSE_ORDER_ROW;
    let (high, low) = (x.len() / width, y.len() / width);
    let (mut handle, mut a, mut bytes) = (std::ptr::null_mut(), std::ptr::null(), 0);
    let factors = [(&raw const alpha).cast(), (&raw const beta).cast()];
    // SAFETY: the operands live until the work is done.
    unsafe {
        assert_eq!(cusparseCreate(&raw mut handle), OK);
        assert_eq!(cusparseSetStream(handle, std::ptr::null_mut()), OK);
        let made = cusparseCreateConstCsr(
            &raw mut a,
            3,
            4,
            values.len() as i64,
            starts.as_ptr().cast(),
            columns.as_ptr().cast(),
            values.as_ptr().cast(),
            index_type,
            index_type,
            cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO,
            data_type,
        );
        if made != OK {
            return made;
        }
        let from = x.as_ptr().cast();
        let to = y.as_mut_ptr().cast();
        let [alpha, beta] = factors;
        let status = if width == 1 {
            let algorithm = cusparseSpMVAlg_t::CUSPARSE_SPMV_ALG_DEFAULT;
            let (mut x, mut y) = (std::ptr::null(), std::ptr::null_mut());
            assert_eq!(cusparseCreateConstDnVec(&raw mut x, high as i64, from, data_type), OK);
            assert_eq!(cusparseCreateDnVec(&raw mut y, low as i64, to, data_type), OK);
            let size = &raw mut bytes;
            cusparseSpMV_bufferSize(handle, op, alpha, a, x, beta, y, data_type, algorithm, size);
            let mut work = vec![0u8; bytes];
            let buffer = work.as_mut_ptr().cast();
            let status = cusparseSpMV(handle, op, alpha, a, x, beta, y, data_type, algorithm, buffer);
            finish();
            assert_eq!((cusparseDestroyDnVec(x), cusparseDestroyDnVec(y)), (OK, OK));
            status
        } else {
            let algorithm = cusparseSpMMAlg_t::CUSPARSE_SPMM_ALG_DEFAULT;
            let (mut x, mut y, w) = (std::ptr::null(), std::ptr::null_mut(), width as i64);
            assert_eq!(cusparseCreateConstDnMat(&raw mut x, high as i64, w, w, from, data_type, order), OK);
            assert_eq!(cusparseCreateDnMat(&raw mut y, low as i64, w, w, to, data_type, order), OK);
            let size = &raw mut bytes;
            cusparseSpMM_bufferSize(handle, op, PLAIN, alpha, a, x, beta, y, data_type, algorithm, size);
            let mut work = vec![0u8; bytes];
            let buffer = work.as_mut_ptr().cast();
            let status = cusparseSpMM(handle, op, PLAIN, alpha, a, x, beta, y, data_type, algorithm, buffer);
            finish();
            assert_eq!((cusparseDestroyDnMat(x), cusparseDestroyDnMat(y)), (OK, OK));
            status
        };
        assert_eq!((cusparseDestroySpMat(a), cusparseDestroy(handle)), (OK, OK));
        assert_eq!(cusparseDestroySpMat(a), INVALID);
        status
    }
}

fn indices32() -> (Vec<i32>, Vec<i32>) {
    let short = |v: &[i64]| v.iter().map(|&i| i as i32).collect();
    (short(&STARTS), short(&COLUMNS))
}

/// Checks a product of complex128 against a dense one.
fn check<T: Element<Wide = Complex<f64>>>(data_type: cudaDataType_t, op: Operation, width: usize) {
    let number = |k: usize| T::narrow(Complex::new((k * 7 % 11) as f64 - 5.0, (k * 5 % 13) as f64 - 6.0));
    let values: Vec<T> = (0..5).map(number).collect();
    let mut dense = [[Complex::<f64>::default(); 4]; 3];
    for row in 0..3 {
        for at in STARTS[row]..STARTS[row + 1] {
            dense[row][COLUMNS[at as usize] as usize] = values[at as usize].wide();
        }
    }
    let (high, low) = if op == TRANSPOSE { (3, 4) } else { (4, 3) };
    let x: Vec<T> = (0..high * width).map(|k| number(k + 3)).collect();
    let (alpha, beta) = (Complex::new(2.0, 1.0), Complex::new(0.0, -1.0));
    let before: Vec<T> = (0..low * width).map(|k| number(k + 5)).collect();
    let expected: Vec<Complex<f64>> = (0..low * width)
        .map(|at| {
            let (i, j) = (at / width, at % width);
            let entry = |l: usize| if op == TRANSPOSE { dense[l][i] } else { dense[i][l] };
            let sum: Complex<f64> = (0..high).map(|l| entry(l) * x[l * width + j].wide()).sum();
            alpha * sum + beta * before[at].wide()
        })
        .collect();
    let factors = [alpha, beta].map(T::narrow);
    let wide = (cusparseIndexType_t::CUSPARSE_INDEX_64I, &STARTS[..], &COLUMNS[..]);
    let mut y = before.clone();
    assert_eq!(product(data_type, wide, &values, op, &x, &mut y, width, factors), OK);
    let (starts, columns) = indices32();
    let narrow = (cusparseIndexType_t::CUSPARSE_INDEX_32I, &starts[..], &columns[..]);
    let mut z = before.clone();
    assert_eq!(product(data_type, narrow, &values, op, &x, &mut z, width, factors), OK);
    for (k, expected) in expected.iter().enumerate() {
        assert_eq!((y[k].wide(), z[k].wide()), (*expected, *expected));
    }
}

#[test]
fn products_with_vectors_and_matrices() {
    for op in [PLAIN, TRANSPOSE] {
        for width in [1, 3] {
            check::<Complex<f64>>(cudaDataType_t::CUDA_C_64F, op, width);
            check::<Complex<f32>>(cudaDataType_t::CUDA_C_32F, op, width);
        }
    }
}

#[test]
fn a_result_times_zero_is_not_read() {
    let wide = (cusparseIndexType_t::CUSPARSE_INDEX_64I, &STARTS[..], &COLUMNS[..]);
    let mut y = [f32::NAN; 3];
    let (values, x) = ([1f32, 2.0, 3.0, 4.0, 5.0], [1f32, 10.0, 100.0, 1000.0]);
    assert_eq!(product(cudaDataType_t::CUDA_R_32F, wide, &values, PLAIN, &x, &mut y, 1, [1.0, 0.0]), OK);
    assert_eq!(y, [2010.0, 0.0, 543.0]);
    let values = values.map(f64::from);
    let mut z = [f64::NAN; 6];
    let x = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0];
    assert_eq!(product(cudaDataType_t::CUDA_R_64F, wide, &values, PLAIN, &x, &mut z, 2, [1.0, 0.0]), OK);
    assert_eq!(z, [0.0, 1.0, 0.0, 0.0, 8.0, 9.0]);
}

#[test]
fn wrong_arguments_are_refused_and_wrong_indices_give_nan() {
    let wide = (cusparseIndexType_t::CUSPARSE_INDEX_64I, &STARTS[..], &COLUMNS[..]);
    let (values, mut y) = ([1f32; 5], [0f32; 3]);
    let mut run = |data_type, pattern, x: &[f32], op| {
        let status = product(data_type, pattern, &values, op, x, &mut y, 1, [1.0, 0.0]);
        (status, y[0].is_nan())
    };
    let f32s = cudaDataType_t::CUDA_R_32F;
    assert_eq!(run(f32s, wide, &[1.0; 3], PLAIN).0, INVALID);
    assert_eq!(run(cudaDataType_t::CUDA_R_16F, wide, &[1.0; 4], PLAIN).0, UNSUPPORTED);
    assert_eq!(run(f32s, wide, &[1.0; 4], Operation::CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE).0, UNSUPPORTED);
    let short = (cusparseIndexType_t::CUSPARSE_INDEX_16U, wide.1, wide.2);
    assert_eq!(run(f32s, short, &[1.0; 4], PLAIN).0, UNSUPPORTED);
    let outside = (wide.0, wide.1, &[1, 4, 0, 1, 2][..]);
    assert_eq!(run(f32s, outside, &[1.0; 4], PLAIN), (OK, true));
}
