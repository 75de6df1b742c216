"""Images as people have them: a folder, paths, bytes, arrays, PIL images, tensors, datasets."""
import os
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from .errors import DataError

#: What the extension takes: a path, the bytes of an image file, or pixels.
Readable = Union[str, bytes, NDArray[np.uint8]]


def is_folder(images: Any) -> bool:
    return isinstance(images, (str, os.PathLike)) and os.path.isdir(images)


def _pixels(image: Any, place: int) -> NDArray[np.uint8]:
    """uint8 [height, width, 3] of an array or tensor; channels may come first where the first axis can be nothing else."""
    array = np.asarray(image) if not hasattr(image, "__dlpack__") or isinstance(image, np.ndarray) else _by_dlpack(image)
    if array.dtype != np.uint8:
        raise DataError(f"image {place}: numbers of type {array.dtype}", "expected uint8, 0 to 255, before any normalisation")
    if array.ndim == 2:
        array = np.repeat(array[:, :, None], 3, axis=2)
    if array.ndim == 3 and array.shape[0] in (1, 3) and array.shape[2] not in (1, 3, 4):
        array = np.moveaxis(array, 0, 2)
    if array.ndim == 3 and array.shape[2] == 1:
        array = np.repeat(array, 3, axis=2)
    if array.ndim == 3 and array.shape[2] == 4:
        array = array[:, :, :3]
    if array.ndim != 3 or array.shape[2] != 3 or 0 in array.shape:
        raise DataError(f"image {place}: an array of shape {array.shape}", "expected [height, width, 3], [height, width] or [3, height, width]")
    return np.ascontiguousarray(array)


def _by_dlpack(tensor: Any) -> NDArray[Any]:
    tensor = tensor.detach() if hasattr(tensor, "detach") else tensor
    try:
        return np.from_dlpack(tensor)
    except (BufferError, RuntimeError, TypeError):  # of another device
        return np.asarray(tensor.cpu() if hasattr(tensor, "cpu") else tensor)


def one_image(image: Any, place: int = 0) -> Readable:
    """A path (str), the bytes of an image file, or pixels."""
    if isinstance(image, (bytes, bytearray, memoryview)):
        return bytes(image)
    if isinstance(image, (str, os.PathLike)):
        return os.path.abspath(os.fspath(image))
    if isinstance(image, dict) and ("bytes" in image or "path" in image):  # an undecoded image of datasets
        return one_image(image["bytes"] if image.get("bytes") is not None else image["path"], place)
    if hasattr(image, "convert") and hasattr(image, "mode"):
        return _of_pil(image)
    if hasattr(image, "read"):  # an open file
        return one_image(image.read(), place)
    if hasattr(image, "__array__") or hasattr(image, "__dlpack__"):
        return _pixels(image, place)
    raise DataError(f"image {place}: a {type(image).__name__} is no image", "expected a path, bytes, a uint8 array, a PIL image or a tensor")


def _of_pil(image: Any) -> NDArray[np.uint8]:
    """As the image's file is read: upright, and 16 bits scaled to eight, as libpng does it."""
    from PIL import ImageOps
    image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I"):
        grey = np.clip(np.asarray(image).astype(np.int64) * 255 + 32895 >> 16, 0, 255).astype(np.uint8)
        return np.ascontiguousarray(np.repeat(grey[:, :, None], 3, axis=2))
    return np.ascontiguousarray(np.asarray(image.convert("RGB")))


def image_list(images: Any) -> list[Readable]:
    """Any collection of images as a list of paths, bytes and pixels."""
    if isinstance(images, (str, os.PathLike)) and not os.path.exists(images):
        raise DataError(f"{os.fspath(images)}: there is no such image or folder")
    if isinstance(images, (str, os.PathLike, bytes, bytearray)) or hasattr(images, "convert") and hasattr(images, "mode") or hasattr(images, "read"):
        images = [images]
    if hasattr(images, "column_names") and hasattr(images, "features"):  # datasets.Dataset
        images = images[image_column(images)]
    elif hasattr(images, "samples") and hasattr(images, "classes"):  # torchvision's ImageFolder
        images = [path for path, _ in images.samples]
    elif hasattr(images, "__array__") or hasattr(images, "__dlpack__"):
        array = np.asarray(images) if not hasattr(images, "__dlpack__") else _by_dlpack(images)
        if array.dtype.kind in "OUS":
            images = array.tolist()
        elif array.ndim in (2, 3) and not (array.ndim == 3 and array.shape[2] not in (1, 3, 4) and array.shape[0] not in (1, 3)):
            images = [array]
        else:
            images = list(array)
    elif is_dataset(images):
        images = [_without_label(images[i]) for i in range(len(images))]
    return [one_image(_without_label(image), place) for place, image in enumerate(images)]


def is_dataset(images: Any) -> bool:
    """A torch Dataset, or what behaves like one."""
    is_array = hasattr(images, "__array__") or hasattr(images, "__dlpack__") or hasattr(images, "column_names")
    return hasattr(images, "__getitem__") and hasattr(images, "__len__") and not isinstance(images, (list, tuple, dict, str, bytes)) and not is_array


def _without_label(item: Any) -> Any:
    """A Dataset's item may be (image, label)."""
    return item[0] if isinstance(item, tuple) and len(item) in (2, 3) else item


def image_column(dataset: Any) -> str:
    names = [name for name, feature in dataset.features.items() if type(feature).__name__ == "Image"]
    if not names:
        names = [name for name in ("image", "img", "path", "file_name") if name in dataset.column_names]
    if not names:
        raise DataError(f"no column of images among {', '.join(dataset.column_names)}")
    return str(names[0])


def save_png(pixels: NDArray[np.uint8], path: "str | os.PathLike[str]") -> None:
    from PIL import Image
    Image.fromarray(pixels).save(path)
