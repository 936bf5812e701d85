//! Philox4x32-10 (Salmon, Moraes, Dror, Shaw, *Parallel Random Numbers: As Easy as 1, 2, 3*, SC11): a counter and a key
//! determine four random words, without state.
//!
//! The streams are the same on every device. Element `index` of a stream (`seed`, `offset`) uses
//! * 32 bits: word `index % 4` of block `offset + index / 4`;
//! * 64 bits: words `2k`, `2k + 1` (low, high) of block `offset + index / 2`, with `k = index % 2`.
//!
//! The counter of a block is `[low, high, 0, 0]`, the key `[seed low, seed high]`.

const M0: u32 = 0xd251_1f53;
const M1: u32 = 0xcd9e_8d57;
const W0: u32 = 0x9e37_79b9;
const W1: u32 = 0xbb67_ae85;

#[inline(always)]
fn wide(a: u32, b: u32) -> (u32, u32) {
    let p = u64::from(a) * u64::from(b);
    ((p >> 32) as u32, p as u32)
}

/// Computes ten rounds.
#[inline(always)]
pub(crate) fn philox(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let ([mut a, mut b, mut c, mut d], [mut k0, mut k1]) = (counter, key);
    let mut round = 0;
    while round < 10 {
        let ((h0, l0), (h1, l1)) = (wide(M0, a), wide(M1, c));
        (a, b, c, d) = (h1 ^ b ^ k0, l1, h0 ^ d ^ k1, l0);
        k0 = k0.wrapping_add(W0);
        k1 = k1.wrapping_add(W1);
        round += 1;
    }
    [a, b, c, d]
}

/// Returns the block of that number.
#[inline(always)]
pub(crate) fn block(number: u64, seed: u64) -> [u32; 4] {
    philox([number as u32, (number >> 32) as u32, 0, 0], [seed as u32, (seed >> 32) as u32])
}

/// Returns the words as two 64-bit words.
#[inline(always)]
pub(crate) fn pair(w: [u32; 4]) -> [u64; 2] {
    [u64::from(w[0]) | u64::from(w[1]) << 32, u64::from(w[2]) | u64::from(w[3]) << 32]
}

/// Uniform in [0, 1) with 24 bits.
#[inline(always)]
pub(crate) fn unit32(bits: u32) -> f32 {
    (bits >> 8) as f32 * 5.9604644775390625e-8
}

/// Uniform in [0, 1) with 53 bits.
#[inline(always)]
pub(crate) fn unit64(bits: u64) -> f64 {
    (bits >> 11) as f64 * 1.1102230246251565e-16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers from Random123 (`kat_vectors`).
    #[test]
    fn known_answers() {
        assert_eq!(philox([0; 4], [0; 2]), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
        assert_eq!(philox([!0; 4], [!0; 2]), [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]);
        assert_eq!(
            philox([0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0]),
            [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]
        );
    }

    #[test]
    fn units_stay_below_one() {
        assert!(unit32(!0) < 1.0 && unit64(!0) < 1.0);
        assert_eq!((unit32(0), unit64(0)), (0.0, 0.0));
    }
}
