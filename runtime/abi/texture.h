/* Textures and surfaces: the structs that the 64-bit handles of kernels point to. In C, plain data.
 *
 * A texture handle (CUtexObject, cudaTextureObject_t, the contents of a .texref variable or parameter) is the
 * address of a struct ptx2cpu_texture, a surface handle (CUsurfObject, the contents of a .surfref) that of a
 * struct ptx2cpu_surface; a null handle is an unbound one: reads of it return zeros, as on a GPU. The code
 * that creates the object (runtime/cuda/driver, or a test) fills the struct completely before a kernel sees
 * the handle and does not change it while one may use it. Nothing here owns memory.
 *
 * A module's `.global .texref name` and `.surfref name` are variables of 8 bytes with the handle; the host
 * finds them by name and stores the handle there (cuTexRefSet*, cudaBindTexture*). The same for kernel
 * parameters of these types: 8 bytes. A .samplerref holds PTX2CPU_SAMPLER_* bits instead of an address; a
 * module may have them as initialiser.
 *
 * All images are kept as rows of texels: `pitch` bytes from a row to the next, `slice` bytes from a depth
 * slice, layer or cube face to the next. Channels of a texel are interleaved, r first. No tiling, no
 * swizzling.
 */
#ifndef PTX2CPU_TEXTURE_H
#define PTX2CPU_TEXTURE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PTX2CPU_MAX_MIP_LEVELS 16u

/* Type of a channel in memory. CUDA's UNORM and SNORM formats are these with `as_float`. */
enum ptx2cpu_channel {
  PTX2CPU_CHANNEL_U8 = 0,
  PTX2CPU_CHANNEL_S8 = 1,
  PTX2CPU_CHANNEL_U16 = 2,
  PTX2CPU_CHANNEL_S16 = 3,
  PTX2CPU_CHANNEL_U32 = 4,
  PTX2CPU_CHANNEL_S32 = 5,
  PTX2CPU_CHANNEL_F16 = 6,
  PTX2CPU_CHANNEL_F32 = 7
};

enum ptx2cpu_shape {
  PTX2CPU_SHAPE_LINEAR = 0, /* CU_RESOURCE_TYPE_LINEAR: width texels from base; outside reads zero */
  PTX2CPU_SHAPE_PITCH = 1,  /* CU_RESOURCE_TYPE_PITCH2D */
  PTX2CPU_SHAPE_1D = 2,     /* CUDA arrays from here on */
  PTX2CPU_SHAPE_2D = 3,
  PTX2CPU_SHAPE_3D = 4,
  PTX2CPU_SHAPE_1D_LAYERED = 5,
  PTX2CPU_SHAPE_2D_LAYERED = 6,
  PTX2CPU_SHAPE_CUBE = 7, /* 6 layers: +x -x +y -y +z -z */
  PTX2CPU_SHAPE_CUBE_LAYERED = 8
};

/* Numbered as CUaddress_mode. */
enum ptx2cpu_address_mode {
  PTX2CPU_ADDRESS_WRAP = 0, /* wrap and mirror need normalised coordinates; without them they act as clamp */
  PTX2CPU_ADDRESS_CLAMP = 1,
  PTX2CPU_ADDRESS_MIRROR = 2,
  PTX2CPU_ADDRESS_BORDER = 3
};

struct ptx2cpu_image_level {
  uint8_t* base;     /* texel (0, 0) of slice 0 */
  uint32_t width;    /* texels */
  uint32_t height;   /* rows; 1 for one-dimensional shapes */
  uint32_t depth;    /* 3D: slices of this level; else 1 */
  uint32_t reserved; /* 0 */
  uint64_t pitch;    /* bytes */
  uint64_t slice;    /* bytes */
};

struct ptx2cpu_image {
  uint32_t shape;       /* ptx2cpu_shape */
  uint32_t channel;     /* ptx2cpu_channel */
  uint32_t channels;    /* 1, 2 or 4 */
  uint32_t layers;      /* layered: layers; cubes: 6 * cubes; else 1 */
  uint32_t levels;      /* mip levels, 1 .. PTX2CPU_MAX_MIP_LEVELS */
  uint32_t reserved[3]; /* 0 */
  struct ptx2cpu_image_level level[PTX2CPU_MAX_MIP_LEVELS];
};

/* First word of both structs. A reference is the handle of a .texref or .surfref variable; istypep
 * distinguishes them from objects. */
enum ptx2cpu_image_kind {
  PTX2CPU_KIND_TEXTURE_OBJECT = 1,
  PTX2CPU_KIND_TEXTURE_REFERENCE = 2,
  PTX2CPU_KIND_SURFACE_OBJECT = 3,
  PTX2CPU_KIND_SURFACE_REFERENCE = 4
};

struct ptx2cpu_texture {
  uint32_t kind;          /* PTX2CPU_KIND_TEXTURE_* */
  uint32_t address[3];    /* ptx2cpu_address_mode of x, y, z; linear memory has none */
  uint32_t linear_filter; /* 0: point, 1: linear; ignored for linear memory and for integer results */
  uint32_t linear_mip;    /* between levels: 0: nearest, 1: linear */
  uint32_t normalized;    /* coordinates 0 .. 1 span the image; ignored for linear memory */
  uint32_t as_float;      /* 8- and 16-bit integer channels read as floats 0 .. 1 or -1 .. 1 (no
                             CU_TRSF_READ_AS_INTEGER) */
  uint32_t srgb;          /* u8 channels r, g, b are sRGB-coded; needs as_float */
  uint32_t seamless;      /* cubes: linear filtering reads over the edges of faces */
  float lod_bias, min_lod, max_lod; /* levels; 0, 0, 0 where there is one level */
  float border[4];
  uint32_t max_anisotropy; /* ignored: filtering is isotropic */
  uint32_t reserved[2];    /* 0 */
  struct ptx2cpu_image image;
};

struct ptx2cpu_surface {
  uint32_t kind;              /* PTX2CPU_KIND_SURFACE_* */
  uint32_t reserved[7];       /* 0 */
  struct ptx2cpu_image image; /* one level: level[0] */
};

/* A sampler of independent mode, as the value of a .samplerref: not zero. */
#define PTX2CPU_SAMPLER_PRESENT 1u
#define PTX2CPU_SAMPLER_LINEAR 2u
#define PTX2CPU_SAMPLER_UNNORMALIZED 4u  /* force_unnormalized_coords */
#define PTX2CPU_SAMPLER_ADDRESS_SHIFT 4u /* ptx2cpu_address_mode, 4 bits each: x, y, z */

/* The operation of a texture instruction: the `fetch` word of ptx2cpu_texture_fetch. */
enum ptx2cpu_geometry { /* bits 0 .. 3 */
                        PTX2CPU_GEOMETRY_1D = 0,
                        PTX2CPU_GEOMETRY_2D = 1,
                        PTX2CPU_GEOMETRY_3D = 2,
                        PTX2CPU_GEOMETRY_A1D = 3,
                        PTX2CPU_GEOMETRY_A2D = 4,
                        PTX2CPU_GEOMETRY_CUBE = 5,
                        PTX2CPU_GEOMETRY_ACUBE = 6
};
#define PTX2CPU_FETCH_GEOMETRY 15u
#define PTX2CPU_FETCH_INTEGER 16u  /* coordinates (and level) are s32, else f32 */
#define PTX2CPU_FETCH_LEVEL 32u    /* one word: the level */
#define PTX2CPU_FETCH_GRADIENT 64u /* two gradients, a word for each dimension (cubes: 3) */
#define PTX2CPU_FETCH_OFFSET 128u  /* a word for each dimension: s32 texels */
#define PTX2CPU_FETCH_GATHER 256u  /* tld4: bits 12, 13 are the channel */
#define PTX2CPU_FETCH_CHANNEL_SHIFT 12u

/* Queries of txq and suq: the `query` word. */
enum ptx2cpu_query {
  PTX2CPU_QUERY_WIDTH = 0,
  PTX2CPU_QUERY_HEIGHT = 1,
  PTX2CPU_QUERY_DEPTH = 2,
  PTX2CPU_QUERY_CHANNEL_DATA_TYPE = 3, /* CUarray_format */
  PTX2CPU_QUERY_CHANNEL_ORDER = 4,     /* number of channels */
  PTX2CPU_QUERY_NORMALIZED = 5,
  PTX2CPU_QUERY_ARRAY_SIZE = 6,
  PTX2CPU_QUERY_LEVELS = 7,
  PTX2CPU_QUERY_SAMPLES = 8,
  PTX2CPU_QUERY_FORCE_UNNORMALIZED = 9,
  PTX2CPU_QUERY_FILTER = 10,    /* 0 nearest, 1 linear */
  PTX2CPU_QUERY_ADDRESS_X = 11, /* 0 wrap, 1 mirror, 2 clamp_ogl, 3 clamp_to_edge, 4 clamp_to_border */
  PTX2CPU_QUERY_ADDRESS_Y = 12,
  PTX2CPU_QUERY_ADDRESS_Z = 13,
  PTX2CPU_QUERY_MEMORY_LAYOUT = 14,
  PTX2CPU_QUERY_KIND = 15,     /* ptx2cpu_image_kind */
  PTX2CPU_QUERY_IS_SIGNED = 16 /* channels are signed integers */
};

/* The operation of a surface instruction: the `access` word of ptx2cpu_surface_address. */
#define PTX2CPU_ACCESS_GEOMETRY 15u   /* ptx2cpu_geometry */
#define PTX2CPU_ACCESS_CLAMP 16u      /* out of range: the nearest place; else address 0 */
#define PTX2CPU_ACCESS_SAMPLES 32u    /* x counts elements of the access's size (sured.p) */
#define PTX2CPU_ACCESS_TEXELS 64u     /* x counts texels (sust.p); the size is a texel's */
#define PTX2CPU_ACCESS_BYTES_SHIFT 8u /* bytes of the access: 1 .. 16 */

#ifdef __cplusplus
}
#endif
#endif
