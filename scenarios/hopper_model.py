"""Steps of a program that use Hopper's engines: wgmma, TMA, cp.async, mbarriers and named barriers.

A place in a buffer (`at`) is a list of numbers or expressions over the trip numbers of unrolled loops, one a dimension:
`at: "[s, 0, 0]"` is the first element of stage s.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ._strict import Strict

Place = Annotated[
    str | list[int], Field(description="first element, numbers or expressions, one a dimension")
]
Swizzle = Literal["none", "32B", "64B", "128B"]
Stage = Annotated[int | str, Field(description="which mbarrier of the ring: a number or an expression")]


class Mbarriers(Strict):
    """A ring of mbarriers of one name."""

    count: int = Field(default=1, ge=1, le=1 << 20, description="arrivals that complete a phase")
    stages: int = Field(default=1, ge=1, le=64, description="how many of them: name[0], name[1], ...")


class Operand(Strict):
    """An operand of wgmma in shared memory, and the descriptor that the kernel gives for it."""

    buffer: str
    at: Place
    swizzle: Swizzle = Field(default="128B", description="swizzle mode in the descriptor")
    major: Literal["K", "MN"] = "K"
    lbo: int | None = Field(
        default=None, ge=0, description="leading byte offset; default: that of a dense tile"
    )
    sbo: int | None = Field(
        default=None, ge=0, description="stride byte offset; default: that of a dense tile"
    )


class WgmmaStep(Strict):
    """wgmma m64nNk(32 bytes) along K, one committed group. Without `a` the operand A comes from registers."""

    n: int = Field(ge=8, le=256, multiple_of=8)
    a: Operand | None = None
    b: Operand
    k: int = Field(default=4, ge=1, le=64, description="instructions, each 32 bytes further along K")
    dtype: Literal["f16", "bf16", "tf32", "e4m3", "e5m2", "s8"] = "f16"
    commit: bool = Field(default=True, description="commit the group after the last of them")


class PendingStep(Strict):
    """A wait for committed groups."""

    pending: int = Field(default=0, ge=0, le=64, description="groups that may be unfinished")


class StoreWaitStep(PendingStep):
    """cp.async.bulk.wait_group."""

    read: bool = Field(default=True, description="wait only until the sources were read (wait_group.read)")


class TmaStep(Strict):
    """A bulk copy or a tensor box. `box` has one size a dimension of the buffer; one row alone is a bulk copy."""

    buffer: str
    at: Place
    box: list[Annotated[int, Field(ge=1)]] = Field(min_length=1, max_length=5)
    swizzle: Swizzle | None = Field(
        default=None, description="swizzle mode of the tensor map; default: the buffer's"
    )
    interleave: Literal["none", "16B", "32B"] = "none"


class TmaLoadStep(TmaStep):
    """Global memory to shared memory; the bytes count on the mbarrier."""

    barrier: str
    stage: Stage = 0


class TmaStoreStep(TmaStep):
    """Shared memory to global memory; commit and wait for it with commit_stores and wait_stores."""


class ArriveStep(Strict):
    """mbarrier.arrive, with `expect` bytes announced. Every warp of the group arrives unless `elect` is set."""

    barrier: str
    stage: Stage = 0
    expect: int = Field(default=0, ge=0, description="bytes (arrive.expect_tx)")
    count: int = Field(default=1, ge=1)
    remote: bool = Field(
        default=False, description="in the other CTA of a cluster: later by half a round trip"
    )


class AwaitStep(Strict):
    """mbarrier.try_wait until the phase of `parity` has completed; the next execution waits for the other parity."""

    barrier: str
    stage: Stage = 0
    parity: Literal[0, 1] = 0


class CpAsyncStep(Strict):
    """cp.async of the warps of the group: `count` instructions a warp that fill a buffer (or a stage of it)."""

    buffer: str
    stage: Stage = 0
    count: int = Field(default=1, ge=1, le=4096)
    op: Literal["ca4", "ca8", "ca16", "cg16"] = "cg16"
    in_l1: bool = False


class SyncStep(Strict):
    """bar.sync, or bar.arrive with `arrive`, of a named barrier."""

    id: Annotated[int | str, Field(description="number of the barrier, 0 to 15")] = 1
    warps: int = Field(ge=1, le=64, description="warps that meet")
    arrive: bool = False


class ClusterCopyStep(Strict):
    """A bulk copy into the shared memory of the other CTA of the cluster; the bytes count on an mbarrier."""

    bytes: int = Field(ge=16, multiple_of=16)
    barrier: str
    stage: Stage = 0
