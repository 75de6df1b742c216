// Images of the collection, cut out of sprite sheets.
import { bytesOf, type Report, type Sprites } from './data';
import { h } from './dom';

/** The page's policy allows no style element that it does not know. */
const styles = new CSSStyleSheet();
document.adoptedStyleSheets.push(styles);

export class SpriteSheets {
  private readonly asked: boolean[] = [];

  /** `name` tells the sheets of one page apart. */
  constructor(
    private readonly sprites: Sprites,
    private readonly name: string,
  ) {}

  /** The image at this place with its name for readers of every kind; a grey tile where there is no picture. */
  tile(place: number, path: string, scale = 1): HTMLElement {
    const { sprites } = this;
    const side = sprites.tile * scale;
    const box = h('span', { class: 'thumb', role: 'img', 'aria-label': path, title: path });
    box.style.width = box.style.height = `${side}px`;
    if (place < 0) {
      box.classList.add('none');
      return box;
    }
    const sheet = Math.floor(place / sprites.per_sheet);
    const at = place % sprites.per_sheet;
    const column = at % sprites.columns;
    const row = Math.floor(at / sprites.columns);
    box.classList.add(`${this.name}-${sheet}`);
    box.style.backgroundSize = `${sprites.columns * side}px auto`;
    box.style.backgroundPosition = `${-column * side}px ${-row * side}px`;
    this.ask(sheet);
    return box;
  }

  /** A sheet becomes a picture when the first of its tiles is made: cards' images are on the first sheets. */
  private ask(sheet: number): void {
    const text = this.sprites.sheets[sheet];
    if (this.asked[sheet] || text === undefined) return;
    this.asked[sheet] = true;
    requestAnimationFrame(() => {
      const url = URL.createObjectURL(new Blob([bytesOf(text)], { type: 'image/jpeg' }));
      styles.insertRule(`.${this.name}-${sheet} { background-image: url(${url}); }`);
    });
  }
}

/** The unlabelled images by their number. */
export class Thumbnails {
  private readonly sheets: SpriteSheets;

  constructor(private readonly report: Report) {
    this.sheets = new SpriteSheets(report.sprites, 'sheet');
  }

  tile(image: number, scale = 1): HTMLElement {
    const { images } = this.report;
    return this.sheets.tile(images.thumbnail[image] ?? -1, images.path[image] ?? '', scale);
  }
}
