"""The PyTorch names that nine of ten public programs need, by module, most frequent first.

Counted over 413 files of 17 repositories (examples, language models, vision, generative networks, tutorials).
"""

from __future__ import annotations

#: Module or class -> its names.
NAMES: dict[str, str] = {
    "": """
        cat randn no_grad device zeros manual_seed save tensor arange load Tensor FloatTensor ones float32
        matmul stack max einsum mean linspace long meshgrid zeros_like randint from_numpy log LongTensor clamp
        exp rand unsqueeze sqrt randn_like sum cos full tanh log_softmax normal where argmax tril sin bool var
        float64 empty inference_mode bfloat16 multinomial finfo mm randperm float16 eye cumprod topk flatten
        compile bmm repeat_interleave abs add all any as_tensor BoolTensor chunk complex64 cumsum diag dot
        double enable_grad equal float full_like half int int32 int64 is_tensor isinf isnan logsumexp
        masked_fill min minimum maximum mul norm ones_like outer permute pow prod relu reshape roll round
        set_default_dtype set_grad_enabled sigmoid sign softmax sort split square squeeze std sub transpose
        tril_indices triu triu_indices uint8 unbind unique log2 bernoulli bincount gather scatter index_select
        nonzero isfinite logical_and logical_not logical_or Generator Size set_default_device default_generator
        get_default_dtype baddbmm addmm cdist cross ger hstack vstack polar view_as_real view_as_complex
        IntTensor DoubleTensor ByteTensor HalfTensor kron quantile rot90 atan2 fmod floor ceil numel
        promote_types result_type set_printoptions searchsorted take_along_dim flip median is_floating_point
        narrow tile movedim broadcast_to broadcast_tensors swapaxes diff
    """,
    "nn": """
        Module Linear Sequential Conv2d ReLU Dropout ModuleList Parameter GELU LayerNorm Identity BatchNorm2d
        Softmax MSELoss CrossEntropyLoss Tanh LeakyReLU Embedding Sigmoid Upsample AdaptiveAvgPool2d MaxPool2d
        Flatten BatchNorm1d Dropout2d BCELoss ConvTranspose2d L1Loss InstanceNorm2d AvgPool2d LSTM SiLU
        ModuleDict GRU RNN PixelShuffle Conv1d BCEWithLogitsLoss DataParallel Transformer TransformerEncoder
        TransformerEncoderLayer TransformerDecoder TransformerDecoderLayer MultiheadAttention NLLLoss
        ParameterList ReflectionPad2d ZeroPad2d SmoothL1Loss HuberLoss KLDivLoss GroupNorm RMSNorm PReLU ELU
        Softplus LogSoftmax Hardtanh ReLU6 Conv3d ConvTranspose1d BatchNorm3d MaxPool1d AvgPool1d
        AdaptiveAvgPool1d AdaptiveMaxPool2d Unflatten CosineSimilarity Dropout1d Dropout3d EmbeddingBag Bilinear
        LSTMCell GRUCell RNNCell Fold Unfold Hardswish Mish CosineEmbeddingLoss TripletMarginLoss
        MarginRankingLoss CTCLoss GLU SELU ParameterDict InstanceNorm1d functional init utils modules parallel
    """,
    "nn.functional": """
        relu mse_loss pad normalize softmax avg_pool2d cross_entropy scaled_dot_product_attention log_softmax
        interpolate max_pool2d adaptive_avg_pool2d one_hot linear nll_loss gelu layer_norm dropout sigmoid tanh
        binary_cross_entropy binary_cross_entropy_with_logits smooth_l1_loss l1_loss kl_div cosine_similarity
        embedding leaky_relu elu silu softplus conv1d conv2d conv_transpose2d unfold fold grid_sample
        affine_grid batch_norm group_norm gumbel_softmax glu dropout2d huber_loss logsigmoid pixel_shuffle mish
        relu6 hardtanh rms_norm
    """,
    "nn.init": """
        constant_ normal_ orthogonal_ zeros_ xavier_uniform_ trunc_normal_ kaiming_normal_ kaiming_uniform_
        xavier_normal_ uniform_ ones_ eye_ dirac_ calculate_gain constant normal kaiming_normal
    """,
    "nn.utils": """
        clip_grad_norm_ clip_grad_value_ parameters_to_vector vector_to_parameters rnn spectral_norm weight_norm
    """,
    "nn.utils.rnn": "pad_sequence pack_padded_sequence pad_packed_sequence pack_sequence PackedSequence",
    "nn.parallel": "DistributedDataParallel data_parallel DataParallel",
    "optim": "Adam SGD AdamW RMSprop Adadelta Adagrad LBFGS Optimizer lr_scheduler",
    "optim.lr_scheduler": "StepLR LambdaLR CosineAnnealingLR ReduceLROnPlateau MultiStepLR ExponentialLR OneCycleLR",
    "autograd": "Variable grad Function backward",
    "amp": "autocast GradScaler",
    "utils.data": """
        DataLoader Dataset Subset TensorDataset IterableDataset random_split ConcatDataset RandomSampler
        SequentialSampler WeightedRandomSampler
    """,
    "utils.tensorboard": "SummaryWriter",
    "cuda": """
        is_available FloatTensor manual_seed manual_seed_all set_device synchronize is_bf16_supported
        device_count current_device empty_cache get_device_name memory_allocated max_memory_allocated amp Event
        Stream
    """,
    "accelerator": "is_available current_accelerator device_count",
    "backends": "cudnn cuda",
    "distributed": "init_process_group destroy_process_group",
    "distributions": "Categorical Normal",
    "profiler": "profile schedule tensorboard_trace_handler ProfilerActivity",
    "Tensor": """
        shape backward item view size to data mean numpy device norm type cuda chunk sum flatten detach cpu
        float transpose reshape squeeze exp sqrt unsqueeze max clone softmax clamp argmax dim fill_ long std
        copy_ numel contiguous gather uniform_ masked_fill permute repeat scatter clamp_ expand topk unbind
        index_add_ eq view_as expand_as new_zeros narrow pin_memory requires_grad log cos t tolist dtype ndim
        grad grad_fn is_leaf requires_grad_ register_hook zero_ add_ sub_ mul_ div_ normal_ is_cuda stride half
        double int bool abs pow square round floor var cumsum sort argmin min all any ne gt lt ge le
        index_select masked_select nonzero split unfold tril triu diag mm bmm matmul dot mv sigmoid tanh relu
        log_softmax sin isnan sub add mul div flip roll masked_fill_ scatter_ scatter_add_ exponential_
        bernoulli_ random_ retain_grad element_size type_as new_ones new_full new_tensor new_empty new
        is_contiguous prod sign mT T bfloat16 byte lerp_ addcmul_ addcdiv_ repeat_interleave movedim unflatten
        amax amin logsumexp nelement data_ptr detach_ squeeze_ unsqueeze_
    """,
}
