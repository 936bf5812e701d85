use std::f64::consts::TAU;

use super::super::finish;
use super::*;

/// Makes a plan as the product does: embedding arrays of the extents, equal steps. Runs it and destroys it.
#[allow(clippy::too_many_arguments, reason = "those of the library")]
fn transform<A: Copy, B: Copy>(
    types: [cudaDataType_t; 3],
    points: &[i64],
    [reads, writes]: [&[i64]; 2],
    step: i64,
    distance: [i64; 2],
    batch: i64,
    direction: c_int,
    input: &mut [A],
    output: &mut [B],
) -> cufftResult {
    let mut handle = 0;
    let mut bytes = 0;
    let ok = cufftResult::CUFFT_SUCCESS;
    let list = |n: &[i64]| n.as_ptr().cast_mut();
    // SAFETY: lists and arrays live until the work is done.
    unsafe {
        assert_eq!(cufftCreate(&raw mut handle), ok);
        assert_eq!(cufftSetAutoAllocation(handle, 0), ok);
        let rank = points.len() as c_int;
        let [t, u, v] = types;
        let [from, to] = distance;
        let made = cufftXtMakePlanMany(
            handle,
            rank,
            list(points),
            list(reads),
            step,
            from,
            t,
            list(writes),
            step,
            to,
            u,
            batch,
            &raw mut bytes,
            v,
        );
        if made != ok {
            return made;
        }
        let (from, to) = (input.as_mut_ptr().cast(), output.as_mut_ptr().cast());
        assert_eq!(cufftXtExec(handle, from, to, direction), cufftResult::CUFFT_NO_WORKSPACE);
        let mut work = vec![0u8; bytes];
        assert_eq!(cufftSetWorkArea(handle, work.as_mut_ptr().cast()), ok);
        let status = cufftXtExec(handle, from, to, direction);
        finish();
        assert_eq!(cufftDestroy(handle), ok);
        assert_eq!(cufftDestroy(handle), cufftResult::CUFFT_INVALID_PLAN);
        status
    }
}

const C64: [cudaDataType_t; 3] = [cudaDataType_t::CUDA_C_32F; 3];
const C128: [cudaDataType_t; 3] = [cudaDataType_t::CUDA_C_64F; 3];
const REAL: [cudaDataType_t; 3] = [cudaDataType_t::CUDA_R_64F, cudaDataType_t::CUDA_C_64F, cudaDataType_t::CUDA_C_64F];
const HALF: [cudaDataType_t; 3] = [cudaDataType_t::CUDA_C_64F, cudaDataType_t::CUDA_R_64F, cudaDataType_t::CUDA_C_64F];

fn sample(n: usize) -> Vec<Complex<f64>> {
    (0..n).map(|k| Complex::new((k * 7 % 11) as f64 - 5.0, (k * 5 % 13) as f64 - 6.0)).collect()
}

/// Returns the transform of one row-major array by its definition.
fn naive(values: &[Complex<f64>], extents: &[usize], sign: f64) -> Vec<Complex<f64>> {
    let index = |mut flat: usize| -> Vec<usize> {
        let mut at = vec![0; extents.len()];
        for (index, n) in at.iter_mut().zip(extents).rev() {
            *index = flat % n;
            flat /= n;
        }
        at
    };
    let term = |to: &[usize], flat: usize| {
        let turns: f64 = (to.iter().zip(index(flat)).zip(extents)).map(|((a, b), n)| (a * b) as f64 / *n as f64).sum();
        values[flat] * Complex::from_polar(1.0, sign * TAU * turns)
    };
    (0..values.len()).map(|to| (0..values.len()).map(|flat| term(&index(to), flat)).sum()).collect()
}

fn assert_near(found: &[Complex<f64>], expected: &[Complex<f64>], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).norm() < tolerance, "{found:?} {expected:?}");
    }
}

#[test]
fn complex_transforms_of_one_to_three_axes_in_both_directions() {
    for points in [&[5i64][..], &[4, 6], &[3, 4, 5]] {
        let extents: Vec<usize> = points.iter().map(|&n| n as usize).collect();
        let size: usize = extents.iter().product();
        for (direction, sign) in [(FORWARD, -1.0), (INVERSE, 1.0)] {
            let (mut input, d) = (sample(2 * size), size as i64);
            let mut output = vec![Complex::default(); 2 * size];
            let both = [points, points];
            let done = transform(C128, points, both, 1, [d, d], 2, direction, &mut input, &mut output);
            assert_eq!(done, cufftResult::CUFFT_SUCCESS);
            for (found, from) in output.chunks(size).zip(sample(2 * size).chunks(size)) {
                assert_near(found, &naive(from, &extents, sign), 1e-10);
            }
        }
    }
}

#[test]
fn columns_are_transformed_in_place_by_their_step() {
    let (n, below) = (6, 4);
    let from = sample(n * below);
    let mut values: Vec<Complex<f32>> = from.iter().map(|z| Complex::new(z.re as f32, z.im as f32)).collect();
    let (points, memory) = ([n as i64], values.as_mut_ptr());
    // SAFETY: the second slice is used as an address only.
    let output = unsafe { std::slice::from_raw_parts_mut(memory, n * below) };
    let both = [&points[..]; 2];
    transform(C64, &points, both, below as i64, [1, 1], below as i64, FORWARD, &mut values, output);
    for column in 0..below {
        let take = |v: &[Complex<f64>]| (0..n).map(|k| v[k * below + column]).collect::<Vec<_>>();
        let found: Vec<Complex<f64>> = values.iter().map(|z| Complex::new(z.re.into(), z.im.into())).collect();
        assert_near(&take(&found), &naive(&take(&from), &[n], -1.0), 1e-4);
    }
}

#[test]
fn half_spectra_and_back() {
    for points in [&[7i64][..], &[8], &[3, 6], &[2, 3, 5]] {
        let extents: Vec<usize> = points.iter().map(|&n| n as usize).collect();
        let (size, n) = (extents.iter().product::<usize>(), *extents.last().unwrap());
        let width = n / 2 + 1;
        let mut half = points.to_vec();
        half[points.len() - 1] = width as i64;
        let real: Vec<f64> = sample(2 * size).iter().map(|z| z.re).collect();
        let count = size / n * width;
        let mut spectrum = vec![Complex::default(); 2 * count];
        let distance = [size as i64, count as i64];
        let both = [points, &half[..]];
        transform(REAL, points, both, 1, distance, 2, FORWARD, &mut real.clone(), &mut spectrum);
        for (found, from) in spectrum.chunks(count).zip(real.chunks(size)) {
            let from: Vec<_> = from.iter().map(|&x| Complex::new(x, 0.0)).collect();
            let whole = naive(&from, &extents, -1.0);
            let expected: Vec<_> = whole.chunks(n).flat_map(|line| line[..width].to_vec()).collect();
            assert_near(found, &expected, 1e-10);
        }
        let (mut back, [a, b]) = (vec![0f64; 2 * size], distance);
        transform(HALF, points, [&half[..], points], 1, [b, a], 2, INVERSE, &mut spectrum, &mut back);
        assert!(back.iter().zip(&real).all(|(a, b)| (a / size as f64 - b).abs() < 1e-12));
        assert_eq!(spectrum[0].re.is_nan(), points.len() > 1);
    }
}

#[test]
fn unsupported_plans_are_refused() {
    let mut values = sample(8);
    let mut out = values.clone();
    let mut refused = |types, points: &[i64], reads: &[i64]| {
        transform(types, points, [reads, points], 1, [8, 8], 1, FORWARD, &mut values, &mut out)
    };
    let mixed = [cudaDataType_t::CUDA_C_32F, cudaDataType_t::CUDA_C_64F, cudaDataType_t::CUDA_C_64F];
    assert_eq!(refused(mixed, &[8], &[8]), UNSUPPORTED);
    assert_eq!(refused([cudaDataType_t::CUDA_C_16F; 3], &[8], &[8]), UNSUPPORTED);
    assert_eq!(refused(C128, &[0], &[8]), cufftResult::CUFFT_INVALID_SIZE);
    assert_eq!(refused(C128, &[2, 4], &[2, 3]), INVALID);
    assert_eq!(refused(C128, &[1, 2, 2, 2], &[1, 2, 2, 2]), INVALID);
}
