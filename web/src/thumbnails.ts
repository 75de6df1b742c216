// Images of the collection, cut out of the sprite sheets.
import { bytesOf, type Report } from './data';
import { h } from './dom';

export class Thumbnails {
  private readonly asked: boolean[] = [];

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
    box.classList.add(`sheet-${sheet}`);
    box.style.backgroundSize = `${sprites.columns * side}px auto`;
    box.style.backgroundPosition = `${-column * side}px ${-row * side}px`;
    this.ask(sheet);
    return box;
  }

  /** A sheet becomes a picture when the first of its tiles is made: cards' images are on the first sheets. */
  private ask(sheet: number): void {
    const text = this.report.sprites.sheets[sheet];
    if (this.asked[sheet] || text === undefined) return;
    this.asked[sheet] = true;
    requestAnimationFrame(() => {
      const url = URL.createObjectURL(new Blob([bytesOf(text)], { type: 'image/jpeg' }));
      document.head.append(h('style', {}, `.sheet-${sheet} { background-image: url(${url}); }`));
    });
  }
}
