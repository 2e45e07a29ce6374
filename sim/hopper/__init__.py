"""Hopper's asynchronous engines on the shared-memory path of one SM: wgmma, TMA, cp.async, mbarriers."""

from .bulk import Commit, CopyWait, CpAsync
from .constants import Async, async_of
from .copies import BulkCopy
from .descriptor import decode_descriptor, encode_descriptor, first_difference, operand_descriptor
from .fetch import Fetch, Product
from .formulas import (
    Copy,
    barrier_cycles,
    cluster_round_trip,
    copy_latency,
    cp_async_cycles,
    slower,
    wgmma_bytes,
    wgmma_interval,
    wgmma_latency,
)
from .hazards import Hazard
from .hooks import ClusterCopy, NamedArrive, NamedWait
from .mbarrier import Arrive, PhaseWait
from .path import SharedPath
from .sm import HopperSm
from .tensor import GroupWait, Tensor, Wgmma

__all__ = [
    "Arrive",
    "Async",
    "BulkCopy",
    "ClusterCopy",
    "Commit",
    "Copy",
    "CopyWait",
    "CpAsync",
    "Fetch",
    "GroupWait",
    "Hazard",
    "HopperSm",
    "NamedArrive",
    "NamedWait",
    "PhaseWait",
    "Product",
    "SharedPath",
    "Tensor",
    "Wgmma",
    "async_of",
    "barrier_cycles",
    "cluster_round_trip",
    "copy_latency",
    "cp_async_cycles",
    "decode_descriptor",
    "encode_descriptor",
    "first_difference",
    "operand_descriptor",
    "slower",
    "wgmma_bytes",
    "wgmma_interval",
    "wgmma_latency",
]
