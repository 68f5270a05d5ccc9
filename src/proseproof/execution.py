"""Running a block: through pytest-codeblocks, under the page's own name and line numbers."""

from __future__ import annotations

import ast
import contextlib
import importlib
import io
import linecache
import os
import shutil
import signal
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any

from pytest_codeblocks.main import CodeBlock
from pytest_codeblocks.plugin import TestBlock

from proseproof import accelerator as accelerators
from proseproof import dependencies, interpreter_state, module_leaks, shape_comments
from proseproof.device_code import NAME
from proseproof.figures import displayed
from proseproof.page import Block, Page

LIMIT = 64 * 1024
SECONDS = 300  # far more than a block may take, and less than a reader of the log will wait
SEED = 20_170_612
SHOWN, ROUNDS = "__shown__", "__rounds__"
OURS = Path(__file__).parent


class Endless(RuntimeError):
    """A block did not come to its end."""


@contextlib.contextmanager
def _bounded(seconds: int) -> Iterator[None]:
    """Interrupt what goes on for longer, where the system can and nobody else uses its alarm."""
    usable = hasattr(signal, "SIGALRM") and threading.current_thread() is threading.main_thread()
    if not usable or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return

    def interrupt(*_: Any) -> None:
        raise Endless(f"runs for more than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


class TooMuchOutput(RuntimeError):
    """A block printed more than a page can show."""


class _Capture(io.StringIO):
    def write(self, text: str) -> int:
        if self.tell() + len(text) > LIMIT:
            raise TooMuchOutput(f"prints more than {LIMIT // 1024} KiB")
        return super().write(text)


@dataclass
class Run:
    """What happened when a block ran."""

    page: Page
    block: Block
    namespace: dict[str, Any] = field(default_factory=dict)
    capture: io.StringIO = field(default_factory=_Capture)
    error: BaseException | None = None
    watch: shape_comments.Watch = field(default_factory=shape_comments.Watch)
    moved_to: str = ""
    patched: list[tuple[int, str]] = field(default_factory=list)
    outputs: list[dict[str, Any]] = field(default_factory=list)
    drew_unseeded: bool = False
    on_cpu: accelerators.OnCpu | None = None  # for a block that is rehearsed
    opened: set[str] = field(default_factory=set)
    ran: set[tuple[str, int]] = field(default_factory=set)
    lost_comments: list[int] = field(default_factory=list)
    unrun_comments: list[int] = field(default_factory=list)

    @property
    def stdout(self) -> str:
        """What the block printed."""
        return self.capture.getvalue()

    @property
    def last_line(self) -> str:
        """The last line of the block's traceback, as Python prints it."""
        if self.error is None:
            return ""
        return "".join(traceback.format_exception_only(self.error)).rstrip("\n")

    def error_line(self) -> int:
        """The page's line at which the error arose."""
        if isinstance(self.error, SyntaxError) and self.error.lineno:
            return self.error.lineno
        lines = [
            frame.lineno
            for frame in traceback.extract_tb(self.error.__traceback__ if self.error else None)
            if frame.filename == self.page.path and frame.lineno
        ]
        return lines[-1] if lines else self.block.line

    def traceback(self) -> str:
        """The traceback without our own frames."""
        assert self.error is not None
        lines = ["Traceback (most recent call last):\n"]
        for frame in traceback.extract_tb(self.error.__traceback__):
            if OURS not in Path(frame.filename).parents:
                lines += traceback.format_list([frame])
        return "".join([*lines, self.last_line])


_running: list[Run] = []


class _Main(ModuleType):
    """`__main__` while a block runs, so that what it defines can be found, pickled and shown."""

    def __init__(self, values: dict[str, Any], path: str) -> None:
        super().__init__("__main__")
        self.__file__ = path
        self.__dict__["_values"] = values

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_values"][name]
        except KeyError:
            raise AttributeError(name) from None


def _enter(values: dict[str, Any]) -> None:
    """First thing that a block's code calls: the names a fresh interpreter would have."""
    run = _running[-1]
    values.pop("__MODULE__", None)
    values |= {"__name__": "__main__", **shape_comments.namespace()}
    run.namespace = values
    sys.modules["__main__"] = _Main(values, run.page.path)
    sys.stdout = run.capture


def _failed(error: BaseException) -> None:
    if isinstance(error, KeyboardInterrupt):
        raise error
    _running[-1].error = error


class _ForAccelerator(ast.NodeTransformer):
    """Rewrites a block for a made-up device, on which tensors have no values to be asserted.

    The loops of a lab, which may train a model, are left when they have shown what they do.
    """

    def __init__(self, device: str, is_lab: bool) -> None:
        self.device, self.is_lab = device, is_lab

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """`"cuda"` is the made-up device."""
        if isinstance(node.value, str) and NAME.fullmatch(node.value):
            node.value = self.device
        return node

    def visit_For(self, node: ast.For | ast.comprehension) -> ast.AST:
        """Go through the rounds of a loop as long as they show something new."""
        self.generic_visit(node)
        if self.is_lab:
            name = ast.copy_location(ast.Name(ROUNDS, ast.Load()), node.iter)
            node.iter = ast.copy_location(ast.Call(name, [node.iter], []), node.iter)
        return node

    visit_comprehension = visit_For

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """Compute what is asserted, and believe it."""
        test = self.visit(node.test)
        return ast.copy_location(ast.Expr(test), node)


def compiled(run: Run, path: str, accelerator: str, display: bool) -> CodeType:
    """The block's code with shape comments asserted, guarded so that any error is kept for us.

    With `display`, the value of a last expression is kept, which a notebook would show.
    """
    block = run.block
    tree, lost = shape_comments.rewrite(block.code, path, block.first - 1, not accelerator)
    run.lost_comments = [line + block.first - 1 for line in lost]
    if accelerator:
        _ForAccelerator(accelerator, run.page.is_lab).visit(tree)
    ast.increment_lineno(tree, block.first - 1)
    future = [node for node in tree.body if _is_future(node)]
    body = [node for node in tree.body if not _is_future(node)] or [ast.Pass()]
    ours = f"__import__('{__name__}', fromlist=['_'])"
    guard = ast.parse(
        f"try:\n pass\nexcept BaseException as __error__:\n {ours}._failed(__error__)"
    ).body[0]
    assert isinstance(guard, ast.Try)
    guard.body = body
    enter = ast.parse(f"{ours}._enter(globals())").body
    if display and isinstance(body[-1], ast.Expr):
        body[-1] = ast.copy_location(
            ast.Assign([ast.Name(SHOWN, ast.Store())], body[-1].value), body[-1]
        )
    tree.body = [*future, *enter, guard]
    return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _fresh_lines(page: Page) -> None:
    """Let tracebacks and `inspect.getsource` read the page's code as code."""
    lines = [line + "\n" for line in page.source_lines]
    linecache.cache[page.path] = (len(page.text), None, lines, page.path)


_scratch: dict[int, tempfile.TemporaryDirectory[str]] = {}


def scratch() -> str:
    """The folder in which blocks run, so that none can write into the project.

    Each process has its own: a fork must not run in, or remove, the folder of its parent.
    """
    if os.getpid() not in _scratch:
        _scratch[os.getpid()] = tempfile.TemporaryDirectory(prefix="proseproof-")
    return os.path.realpath(_scratch[os.getpid()].name)


def empty_scratch() -> str:
    """The scratch folder, without what the last block left there."""
    with os.scandir(scratch()) as left:
        for one in left:
            if one.is_dir(follow_symlinks=False):
                shutil.rmtree(one.path)
            else:
                os.unlink(one.path)
    return scratch()


def sweep() -> None:
    """Remove this process's scratch folder, when it ends without cleaning up."""
    own = _scratch.pop(os.getpid(), None)
    if own is not None:
        own.cleanup()


@contextlib.contextmanager
def _watched(run: Run) -> Iterator[None]:
    """Note which files the block opens, and which shape comments it checks."""
    before = [one for one in shape_comments.registry.values() if one.ran]
    for comment in before:
        comment.ran = False
    _running.append(run)
    shape_comments.watches.append(run.watch)
    try:
        with dependencies.opened() as run.opened:
            yield
    finally:
        _running.pop()
        shape_comments.watches.remove(run.watch)
        run.ran = {place for place, one in shape_comments.registry.items() if one.ran}
        for comment in before:
            comment.ran = True


def execute(
    page: Page,
    block: Block,
    *,
    shared: dict[str, Any] | None = None,
    seed: int = SEED,
    accelerator: str = "",
    within: AbstractContextManager[None] | None = None,
) -> Run:
    """Run one block from a clean state; every error is in the result, none is raised.

    `shared` is the namespace of a lab, whose cells build on one another; the caller keeps the
    state then. `accelerator` is the device that stands for CUDA, `within` the stage it needs.
    """
    run = Run(page, block, watch=shape_comments.Watch(page.path))
    load_what_has_global_state(page)
    _fresh_lines(page)
    try:
        code = compiled(run, page.path, accelerator, shared is not None and not accelerator)
    except (SyntaxError, ValueError) as error:
        run.error = error
        if isinstance(error, SyntaxError) and error.lineno:
            # Python looked the line up in the page, where it has another number.
            lines = block.code.splitlines()
            error.text = lines[min(error.lineno, len(lines)) - 1] if lines else ""
            error.lineno += block.first - 1
            error.end_lineno = None
        return run
    with _watched(run):
        if shared is not None:
            exec(code, shared)
            if run.stdout:
                stream = {"output_type": "stream", "name": "stdout", "text": run.stdout}
                run.outputs.append(stream)
            run.outputs += displayed(shared.pop(SHOWN, None))
        else:
            with interpreter_state.restored():
                os.chdir(empty_scratch())
                interpreter_state.seed(seed)
                draws = interpreter_state.Draws()
                watched = contextlib.nullcontext() if accelerator else draws.watched()
                warnings.filterwarnings("ignore", category=DeprecationWarning)
                carrier = CodeBlock(code, block.line, "python")
                stage = within or contextlib.nullcontext()
                with (
                    _bounded(SECONDS),
                    stage,
                    watched,
                    module_leaks.unpatched(block.code) as patched,
                ):
                    TestBlock.runtest(SimpleNamespace(name=f"line {block.line}", obj=carrier))
                run.drew_unseeded = draws.unseeded
                run.patched = [(line + block.first - 1, name) for line, name in patched]
                here = os.path.realpath(os.getcwd())
                run.moved_to = "" if here == scratch() else here
    first, last = block.first, block.first + len(block.code.splitlines())
    if run.error is None:
        run.unrun_comments = [
            line
            for (path, line), comment in shape_comments.registry.items()
            if path == page.path and first <= line < last and not comment.ran
        ]
        run.unrun_comments = sorted({*run.unrun_comments, *run.lost_comments})
    return run


def load_what_has_global_state(page: Page) -> None:
    """Import before the block does what has to be seeded, watched and put back."""
    code = "\n".join(block.code for block in page.blocks)
    for word, module in (
        ("torch", "torch"),
        ("numpy", "numpy"),
        ("pyplot", "matplotlib.pyplot"),
    ):
        # Whatever a lab imports may load numpy, whose generator has to be seeded before.
        wanted = word in code or (page.is_lab and module == "numpy")
        if wanted and module not in sys.modules:
            os.environ.setdefault("MPLBACKEND", "Agg")
            with contextlib.suppress(ImportError):
                importlib.import_module(module)


def is_window(error: BaseException | None) -> bool:
    """True for an error that says a block wanted to open a window."""
    if error is None:
        return False
    return isinstance(error, interpreter_state.WindowError) or type(error).__name__ == "TclError"
