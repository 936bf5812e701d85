// Computes c = alpha · (sum of the slices) + beta · addend + bias.
DEV void tf32_combine(const float* slices, float* c, float alpha, float alpha_sign, float beta, float beta_sign,
                      const float* addend, const float* bias, int64 size, int64 n, int64 count) {
    for (int64 i = (int64)blockIdx.x * 256 + threadIdx.x; i < size; i += (int64)gridDim.x * 256) {
        float sum = slices[i];
        for (int64 s = 1; s < count; s++) sum += slices[s * size + i];
        float x = alpha * alpha_sign * sum;
        if (addend) x += beta * beta_sign * addend[i];
        if (bias) x += bias[i % n];
        c[i] = x;
    }
}
