"""Attention in Triton: kernels of one's own for a GPU, which also run without one.

Triton is a language inside Python: a kernel looks like a function on tensors, and describes what
one of many programs does that run side by side. Where there is CUDA, it is compiled for it. Where
there is none, Triton's interpreter runs the programs one after the other, on the CPU: slow, and
enough to see that the arithmetic and the masks are right. It shows neither races nor speed, lets
reads beyond the end of a tensor pass, and multiplies float32 exactly where a GPU may round.

TRITON_INTERPRET=1 in the environment asks for the interpreter on any machine, and 0 for none.
"""

try:
    import triton  # noqa: F401
except ModuleNotFoundError as error:
    raise ImportError('kernels need Triton, on Linux: pip install "headwise[kernels]"') from error

from headwise.kernels.attention import triton_attention

__all__ = ["triton_attention"]
