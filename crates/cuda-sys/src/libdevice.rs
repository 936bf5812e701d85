//! The names of libdevice's functions, for compilers that have no libdevice.

/// Returns CUDA C++ with CUDA's names in place of libdevice's, which other compilers than NVIDIA's do not know. Lines that
/// declare functions of libdevice become empty.
pub fn by_cuda_names(source: &str) -> String {
    let declares = |line: &str| line.starts_with("extern \"C\"") && line.contains("__nv_");
    let lines: Vec<String> =
        source.split('\n').map(|line| if declares(line) { String::new() } else { line_by_cuda_names(line) }).collect();
    lines.join("\n")
}

/// Returns a line with CUDA's names in place of libdevice's: `__nv_sinf` is `sinf`, `__nv_fast_sinf` is `__sinf`, and
/// functions about bits and rounding have two underscores.
fn line_by_cuda_names(line: &str) -> String {
    const MARKS: [&str; 10] =
        ["2int", "2uint", "2float", "2ll", "2ull", "2half", "2double", "_as_", "2hiint", "2loint"];
    const BITS: &str = " brev brevll clz clzll ffs ffsll popc popcll byte_perm sad usad mulhi umulhi mul64hi umul64hi \
                        mul24 umul24 hadd rhadd uhadd urhadd saturatef hiloint2double ";
    let mut parts = line.split("__nv_");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        let rounds = ["_rn", "_rd", "_ru", "_rz"].iter().any(|end| name.ends_with(end));
        text += &match name.strip_prefix("fast_") {
            Some(fast) => format!("__{fast}"),
            None if rounds || MARKS.iter().any(|mark| name.contains(mark)) || BITS.contains(&format!(" {name} ")) => {
                format!("__{name}")
            }
            None => name.to_owned(),
        };
        text += rest;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libdevices_functions_have_cudas_names() {
        assert_eq!(
            by_cuda_names("x = __nv_sinf(a) + __nv_fast_sinf(__nv_popc(b));"),
            "x = sinf(a) + __sinf(__popc(b));"
        );
        assert_eq!(by_cuda_names("__nv_float_as_int(x)"), "__float_as_int(x)");
    }
}
