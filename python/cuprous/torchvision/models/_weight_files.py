"""The files of pretrained weights: for each network the name of its enumeration and a row for each member: the file,
the extents of the cropped and of the resized images, and what differs from bilinear interpolation and the mean."""

from __future__ import annotations

FILES: dict[str, tuple[str, str]] = {
    "convnext_base": ("ConvNeXt_Base_Weights", "IMAGENET1K_V1=convnext_base-6075fbad.pth:224:232"),
    "convnext_large": ("ConvNeXt_Large_Weights", "IMAGENET1K_V1=convnext_large-ea097f82.pth:224:232"),
    "convnext_small": ("ConvNeXt_Small_Weights", "IMAGENET1K_V1=convnext_small-0c510722.pth:224:230"),
    "convnext_tiny": ("ConvNeXt_Tiny_Weights", "IMAGENET1K_V1=convnext_tiny-983f1562.pth:224:236"),
    "densenet121": ("DenseNet121_Weights", "IMAGENET1K_V1=densenet121-a639ec97.pth:224:256"),
    "densenet161": ("DenseNet161_Weights", "IMAGENET1K_V1=densenet161-8d451a50.pth:224:256"),
    "densenet169": ("DenseNet169_Weights", "IMAGENET1K_V1=densenet169-b2777c0a.pth:224:256"),
    "densenet201": ("DenseNet201_Weights", "IMAGENET1K_V1=densenet201-c1103571.pth:224:256"),
    "efficientnet_b0": (
        "EfficientNet_B0_Weights",
        "IMAGENET1K_V1=efficientnet_b0_rwightman-7f5810bc.pth:224:256:bicubic",
    ),
    "efficientnet_b1": (
        "EfficientNet_B1_Weights",
        "IMAGENET1K_V1=efficientnet_b1_rwightman-bac287d4.pth:240:256:bicubic "
        "IMAGENET1K_V2=efficientnet_b1-c27df63c.pth:240:255",
    ),
    "efficientnet_b2": (
        "EfficientNet_B2_Weights",
        "IMAGENET1K_V1=efficientnet_b2_rwightman-c35c1473.pth:288:288:bicubic",
    ),
    "efficientnet_b3": (
        "EfficientNet_B3_Weights",
        "IMAGENET1K_V1=efficientnet_b3_rwightman-b3899882.pth:300:320:bicubic",
    ),
    "efficientnet_b4": (
        "EfficientNet_B4_Weights",
        "IMAGENET1K_V1=efficientnet_b4_rwightman-23ab8bcd.pth:380:384:bicubic",
    ),
    "efficientnet_b5": (
        "EfficientNet_B5_Weights",
        "IMAGENET1K_V1=efficientnet_b5_lukemelas-1a07897c.pth:456:456:bicubic",
    ),
    "efficientnet_b6": (
        "EfficientNet_B6_Weights",
        "IMAGENET1K_V1=efficientnet_b6_lukemelas-24a108a5.pth:528:528:bicubic",
    ),
    "efficientnet_b7": (
        "EfficientNet_B7_Weights",
        "IMAGENET1K_V1=efficientnet_b7_lukemelas-c5b4e57e.pth:600:600:bicubic",
    ),
    "efficientnet_v2_l": (
        "EfficientNet_V2_L_Weights",
        "IMAGENET1K_V1=efficientnet_v2_l-59c71312.pth:480:480:bicubic:half",
    ),
    "efficientnet_v2_m": ("EfficientNet_V2_M_Weights", "IMAGENET1K_V1=efficientnet_v2_m-dc08266a.pth:480:480"),
    "efficientnet_v2_s": ("EfficientNet_V2_S_Weights", "IMAGENET1K_V1=efficientnet_v2_s-dd5fe13b.pth:384:384"),
    "googlenet": ("GoogLeNet_Weights", "IMAGENET1K_V1=googlenet-1378be20.pth:224:256"),
    "inception_v3": ("Inception_V3_Weights", "IMAGENET1K_V1=inception_v3_google-0cc3c7bd.pth:299:342"),
    "maxvit_t": ("MaxVit_T_Weights", "IMAGENET1K_V1=maxvit_t-bc5ab103.pth:224:224:bicubic"),
    "mnasnet0_5": ("MNASNet0_5_Weights", "IMAGENET1K_V1=mnasnet0.5_top1_67.823-3ffadce67e.pth:224:256"),
    "mnasnet0_75": ("MNASNet0_75_Weights", "IMAGENET1K_V1=mnasnet0_75-7090bc5f.pth:224:232"),
    "mnasnet1_0": ("MNASNet1_0_Weights", "IMAGENET1K_V1=mnasnet1.0_top1_73.512-f206786ef8.pth:224:256"),
    "mnasnet1_3": ("MNASNet1_3_Weights", "IMAGENET1K_V1=mnasnet1_3-a4c69d6f.pth:224:232"),
    "mobilenet_v2": (
        "MobileNet_V2_Weights",
        "IMAGENET1K_V1=mobilenet_v2-b0353104.pth:224:256 IMAGENET1K_V2=mobilenet_v2-7ebf99e0.pth:224:232",
    ),
    "mobilenet_v3_large": (
        "MobileNet_V3_Large_Weights",
        "IMAGENET1K_V1=mobilenet_v3_large-8738ca79.pth:224:256 IMAGENET1K_V2=mobilenet_v3_large-5c1a4163.pth:224:232",
    ),
    "mobilenet_v3_small": ("MobileNet_V3_Small_Weights", "IMAGENET1K_V1=mobilenet_v3_small-047dcff4.pth:224:256"),
    "regnet_x_16gf": (
        "RegNet_X_16GF_Weights",
        "IMAGENET1K_V1=regnet_x_16gf-2007eb11.pth:224:256 IMAGENET1K_V2=regnet_x_16gf-ba3796d7.pth:224:232",
    ),
    "regnet_x_1_6gf": (
        "RegNet_X_1_6GF_Weights",
        "IMAGENET1K_V1=regnet_x_1_6gf-e3633e7f.pth:224:256 IMAGENET1K_V2=regnet_x_1_6gf-a12f2b72.pth:224:232",
    ),
    "regnet_x_32gf": (
        "RegNet_X_32GF_Weights",
        "IMAGENET1K_V1=regnet_x_32gf-9d47f8d0.pth:224:256 IMAGENET1K_V2=regnet_x_32gf-6eb8fdc6.pth:224:232",
    ),
    "regnet_x_3_2gf": (
        "RegNet_X_3_2GF_Weights",
        "IMAGENET1K_V1=regnet_x_3_2gf-f342aeae.pth:224:256 IMAGENET1K_V2=regnet_x_3_2gf-7071aa85.pth:224:232",
    ),
    "regnet_x_400mf": (
        "RegNet_X_400MF_Weights",
        "IMAGENET1K_V1=regnet_x_400mf-adf1edd5.pth:224:256 IMAGENET1K_V2=regnet_x_400mf-62229a5f.pth:224:232",
    ),
    "regnet_x_800mf": (
        "RegNet_X_800MF_Weights",
        "IMAGENET1K_V1=regnet_x_800mf-ad17e45c.pth:224:256 IMAGENET1K_V2=regnet_x_800mf-94a99ebd.pth:224:232",
    ),
    "regnet_x_8gf": (
        "RegNet_X_8GF_Weights",
        "IMAGENET1K_V1=regnet_x_8gf-03ceed89.pth:224:256 IMAGENET1K_V2=regnet_x_8gf-2b70d774.pth:224:232",
    ),
    "regnet_y_128gf": (
        "RegNet_Y_128GF_Weights",
        "IMAGENET1K_SWAG_E2E_V1=regnet_y_128gf_swag-c8ce3e52.pth:384:384:bicubic "
        "IMAGENET1K_SWAG_LINEAR_V1=regnet_y_128gf_lc_swag-cbe8ce12.pth:224:224:bicubic",
    ),
    "regnet_y_16gf": (
        "RegNet_Y_16GF_Weights",
        "IMAGENET1K_V1=regnet_y_16gf-9e6ed7dd.pth:224:256 "
        "IMAGENET1K_V2=regnet_y_16gf-3e4a00f9.pth:224:232 "
        "IMAGENET1K_SWAG_E2E_V1=regnet_y_16gf_swag-43afe44d.pth:384:384:bicubic "
        "IMAGENET1K_SWAG_LINEAR_V1=regnet_y_16gf_lc_swag-f3ec0043.pth:224:224:bicubic",
    ),
    "regnet_y_1_6gf": (
        "RegNet_Y_1_6GF_Weights",
        "IMAGENET1K_V1=regnet_y_1_6gf-b11a554e.pth:224:256 IMAGENET1K_V2=regnet_y_1_6gf-0d7bc02a.pth:224:232",
    ),
    "regnet_y_32gf": (
        "RegNet_Y_32GF_Weights",
        "IMAGENET1K_V1=regnet_y_32gf-4dee3f7a.pth:224:256 "
        "IMAGENET1K_V2=regnet_y_32gf-8db6d4b5.pth:224:232 "
        "IMAGENET1K_SWAG_E2E_V1=regnet_y_32gf_swag-04fdfa75.pth:384:384:bicubic "
        "IMAGENET1K_SWAG_LINEAR_V1=regnet_y_32gf_lc_swag-e1583746.pth:224:224:bicubic",
    ),
    "regnet_y_3_2gf": (
        "RegNet_Y_3_2GF_Weights",
        "IMAGENET1K_V1=regnet_y_3_2gf-b5a9779c.pth:224:256 IMAGENET1K_V2=regnet_y_3_2gf-9180c971.pth:224:232",
    ),
    "regnet_y_400mf": (
        "RegNet_Y_400MF_Weights",
        "IMAGENET1K_V1=regnet_y_400mf-c65dace8.pth:224:256 IMAGENET1K_V2=regnet_y_400mf-e6988f5f.pth:224:232",
    ),
    "regnet_y_800mf": (
        "RegNet_Y_800MF_Weights",
        "IMAGENET1K_V1=regnet_y_800mf-1b27b58c.pth:224:256 IMAGENET1K_V2=regnet_y_800mf-58fc7688.pth:224:232",
    ),
    "regnet_y_8gf": (
        "RegNet_Y_8GF_Weights",
        "IMAGENET1K_V1=regnet_y_8gf-d0d0e4a8.pth:224:256 IMAGENET1K_V2=regnet_y_8gf-dc2b1b54.pth:224:232",
    ),
    "resnext101_64x4d": ("ResNeXt101_64X4D_Weights", "IMAGENET1K_V1=resnext101_64x4d-173b62eb.pth:224:232"),
    "shufflenet_v2_x0_5": ("ShuffleNet_V2_X0_5_Weights", "IMAGENET1K_V1=shufflenetv2_x0.5-f707e7126e.pth:224:256"),
    "shufflenet_v2_x1_0": ("ShuffleNet_V2_X1_0_Weights", "IMAGENET1K_V1=shufflenetv2_x1-5666bf0f80.pth:224:256"),
    "shufflenet_v2_x1_5": ("ShuffleNet_V2_X1_5_Weights", "IMAGENET1K_V1=shufflenetv2_x1_5-3c479a10.pth:224:232"),
    "shufflenet_v2_x2_0": ("ShuffleNet_V2_X2_0_Weights", "IMAGENET1K_V1=shufflenetv2_x2_0-8be3c8ee.pth:224:232"),
    "squeezenet1_0": ("SqueezeNet1_0_Weights", "IMAGENET1K_V1=squeezenet1_0-b66bff10.pth:224:256"),
    "squeezenet1_1": ("SqueezeNet1_1_Weights", "IMAGENET1K_V1=squeezenet1_1-b8a52dc0.pth:224:256"),
    "swin_b": ("Swin_B_Weights", "IMAGENET1K_V1=swin_b-68c6b09e.pth:224:238:bicubic"),
    "swin_s": ("Swin_S_Weights", "IMAGENET1K_V1=swin_s-5e29d889.pth:224:246:bicubic"),
    "swin_t": ("Swin_T_Weights", "IMAGENET1K_V1=swin_t-704ceda3.pth:224:232:bicubic"),
    "swin_v2_b": ("Swin_V2_B_Weights", "IMAGENET1K_V1=swin_v2_b-781e5279.pth:256:272:bicubic"),
    "swin_v2_s": ("Swin_V2_S_Weights", "IMAGENET1K_V1=swin_v2_s-637d8ceb.pth:256:260:bicubic"),
    "swin_v2_t": ("Swin_V2_T_Weights", "IMAGENET1K_V1=swin_v2_t-b137f0e2.pth:256:260:bicubic"),
    "vit_b_16": (
        "ViT_B_16_Weights",
        "IMAGENET1K_V1=vit_b_16-c867db91.pth:224:256 "
        "IMAGENET1K_SWAG_E2E_V1=vit_b_16_swag-9ac1b537.pth:384:384:bicubic "
        "IMAGENET1K_SWAG_LINEAR_V1=vit_b_16_lc_swag-4e70ced5.pth:224:224:bicubic",
    ),
    "vit_b_32": ("ViT_B_32_Weights", "IMAGENET1K_V1=vit_b_32-d86f8d99.pth:224:256"),
    "vit_h_14": (
        "ViT_H_14_Weights",
        "IMAGENET1K_SWAG_E2E_V1=vit_h_14_swag-80465313.pth:518:518:bicubic "
        "IMAGENET1K_SWAG_LINEAR_V1=vit_h_14_lc_swag-c1eb923e.pth:224:224:bicubic",
    ),
    "vit_l_16": (
        "ViT_L_16_Weights",
        "IMAGENET1K_V1=vit_l_16-852ce7e3.pth:224:242 "
        "IMAGENET1K_SWAG_E2E_V1=vit_l_16_swag-4f3808c9.pth:512:512:bicubic "
        "IMAGENET1K_SWAG_LINEAR_V1=vit_l_16_lc_swag-4d563306.pth:224:224:bicubic",
    ),
    "vit_l_32": ("ViT_L_32_Weights", "IMAGENET1K_V1=vit_l_32-c7638314.pth:224:256"),
}
