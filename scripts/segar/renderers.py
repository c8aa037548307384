"""`gumption segar renderers`: train models of textures."""

from __future__ import annotations

from pathlib import Path

from gumption.data.settings import Count, Seed
from gumption.scripts.apps import App

app = App(add_completion=False)


@app.command("renderers", epilog="Example: gumption segar renderers --models 5 --out looks")
def renderers(*, out: Path, models: Count = 1, seed: Seed = 0, epochs: Count = 10, name: str = "model") -> None:
    """Train autoencoders whose decoders make textures; a renderer's setting `models` takes the folder or a file.

    :param out: Folder for NAME-SEED.safetensors.
    :param models: How many, one for each seed from --seed on.
    :param seed: Of the first model.
    :param epochs: Each of 4,096 codes.
    :param name: What the names of the files begin with.
    """
    from gumption.data.progress import Bar
    from gumption.data.writing import check_writable, whole_file

    files = {seed + i: out / f"{name}-{seed + i:02}.safetensors" for i in range(models)}
    for file in files.values():
        check_writable(file)
    from safetensors.numpy import save_file

    from gumption.scripts.segar.train_renderers import TrainingSettings, train

    settings = TrainingSettings(epochs=epochs)
    with Bar(models * epochs, "epochs") as bar:
        for done, (number, file) in enumerate(files.items()):

            def show(epoch: int, error: float, before: int = done * epochs) -> None:
                bar.show(before + epoch, f"mean squared error {error:.4f}")

            trained = train(number, settings, show)
            with whole_file(file) as beside:
                save_file(trained.tensors, beside)
            print(f"{file}: codes are told from textures with a mean squared error of {trained.error:.4f}")
