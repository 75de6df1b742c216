// Images of the collection, cut out of the sprite sheets.
import type { Report } from './data';
import { h } from './dom';

export class Thumbnails {
  constructor(private readonly report: Report) {}

  /** The image with its name for readers of every kind; a grey tile where there is no picture. */
  tile(image: number, scale = 1): HTMLElement {
    const { sprites, images } = this.report;
    const side = sprites.tile * scale;
    const place = images.thumbnail[image] ?? -1;
    const name = images.path[image] ?? '';
    const box = h('span', { class: 'thumb', role: 'img', 'aria-label': name, title: name });
    box.style.width = box.style.height = `${side}px`;
    if (place < 0) {
      box.classList.add('none');
      return box;
    }
    const sheet = Math.floor(place / sprites.per_sheet);
    const at = place % sprites.per_sheet;
    const column = at % sprites.columns;
    const row = Math.floor(at / sprites.columns);
    box.style.backgroundImage = `var(--sheet-${sheet})`;
    box.style.backgroundSize = `${sprites.columns * side}px auto`;
    box.style.backgroundPosition = `${-column * side}px ${-row * side}px`;
    return box;
  }

  /** Sheets are named once; every tile refers to them. */
  install(): void {
    this.report.sprites.sheets.forEach((url, i) =>
      document.documentElement.style.setProperty(`--sheet-${i}`, `url(${url})`),
    );
  }
}
