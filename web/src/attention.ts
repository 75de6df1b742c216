// Where the model looks: what the CLS token of the last block gives to each patch, per head, before and after training.
import type { Corrections } from './corrections';
import { bytesOf, type Attention, type Report } from './data';
import { h, percent, reason, section, whenNear } from './dom';

/** The smallest share of the picture that holds half of the attention. */
export function concentration(map: Uint8Array): number {
  const sorted = Array.from(map).sort((a, b) => b - a);
  const half = sorted.reduce((a, b) => a + b, 0) / 2;
  let sum = 0;
  let patches = 0;
  while (patches < sorted.length && sum < half) sum += sorted[patches++]!;
  return patches / Math.max(1, sorted.length);
}

/** Where the weight of the strongest patches lies, in words. */
function whereabouts(map: Uint8Array, rows: number, columns: number): string {
  let [x, y, total] = [0, 0, 0];
  map.forEach((value, i) => {
    if (value < 128) return;
    x += value * (((i % columns) + 0.5) / columns);
    y += value * ((Math.floor(i / columns) + 0.5) / rows);
    total += value;
  });
  if (total === 0) return 'nowhere';
  const third = (share: number, names: string[]) => names[Math.min(2, Math.floor(3 * share))]!;
  const words = [third(y / total, ['top', '', 'bottom']), third(x / total, ['left', '', 'right'])].filter(Boolean);
  return words.length ? `at the ${words.join(' ')}` : 'in the middle';
}

/** The view in pale grey, red where the head looks. */
function overlay(view: ImageData, map: Uint8Array, rows: number, columns: number): HTMLCanvasElement {
  const { width, height } = view;
  const small = h('canvas', { width: columns, height: rows });
  const heat = new ImageData(columns, rows);
  map.forEach((value, i) => heat.data.set([215, 25, 28, value], 4 * i));
  small.getContext('2d')!.putImageData(heat, 0, 0);
  const grey = new ImageData(width, height);
  for (let i = 0; i < view.data.length; i += 4) {
    const light = 110 + 0.5 * (0.299 * view.data[i]! + 0.587 * view.data[i + 1]! + 0.114 * view.data[i + 2]!);
    grey.data.set([light, light, light, 255], i);
  }
  const canvas = h('canvas', { width, height, role: 'img' });
  const context = canvas.getContext('2d')!;
  context.putImageData(grey, 0, 0);
  context.imageSmoothingQuality = 'high';
  context.drawImage(small, 0, 0, width, height);
  return canvas;
}

class Viewer {
  private readonly before: Uint8Array;
  private readonly after: Uint8Array;
  private readonly title = h('h3', { 'aria-live': 'polite' });
  private shown = 0;

  constructor(
    private readonly report: Report,
    private readonly corrections: Corrections,
    private readonly data: Attention,
    private readonly views: ImageData[],
    private readonly place: HTMLElement,
  ) {
    this.before = bytesOf(data.before);
    this.after = bytesOf(data.after);
  }

  private map(when: 'before' | 'after', example: number, head: number): Uint8Array {
    const size = this.data.rows * this.data.columns;
    const start = (example * this.data.heads + head) * size;
    return this[when].subarray(start, start + size);
  }

  /** Says of what class the shown image is, by the name that it has now. */
  refresh(): void {
    const { report } = this;
    const image = this.data.images[this.shown]!;
    const k = report.images.class[image]!;
    this.title.textContent = `${this.corrections.nameOf(k)} (${report.classes[k]!.is_new ? 'new' : 'known'}${report.images.is_outlier[image] ? ', fits no class well' : ''})`;
  }

  show(example: number): void {
    this.shown = example;
    this.refresh();
    const { report, data } = this;
    const image = data.images[example]!;
    const heads = Array.from({ length: data.heads }, (_, head) => head);
    const mean = (when: 'before' | 'after') => 100 * (heads.reduce((sum, head) => sum + concentration(this.map(when, example, head)), 0) / data.heads);
    const tile = (when: 'before' | 'after', head: number): Node[] => {
      const map = this.map(when, example, head);
      const canvas = overlay(this.views[example]!, map, data.rows, data.columns);
      const share = percent(100 * concentration(map), 0);
      canvas.setAttribute('aria-label', `Head ${head + 1} ${when} training looks mostly ${whereabouts(map, data.rows, data.columns)}; half of its attention lies on ${share} of the picture`);
      return [canvas, h('small', {}, `${when}: ${share}`)];
    };
    const picture = h('canvas', { width: data.side, height: data.side, role: 'img', 'aria-label': report.images.path[image]! });
    picture.getContext('2d')!.putImageData(this.views[example]!, 0, 0);
    this.place.replaceChildren(
      this.title,
      h('p', { class: 'facts' }, `${report.images.path[image]}. Half of a head's attention lies on ${percent(mean('before'), 0)} of the picture before training and on ${percent(mean('after'), 0)} after it, in the mean.`),
      h('div', { class: 'heads' }, h('figure', {}, h('figcaption', {}, 'Picture'), picture), ...heads.map((head) => h('figure', {}, h('figcaption', {}, `Head ${head + 1}`), ...tile('before', head), ...tile('after', head)))),
    );
  }
}

/** The views, cut out of their common picture. */
async function cutViews(data: Attention): Promise<ImageData[]> {
  const sheet = await createImageBitmap(new Blob([bytesOf(data.views)], { type: 'image/jpeg' }));
  const canvas = h('canvas', { width: data.side, height: data.side * data.images.length });
  const context = canvas.getContext('2d', { willReadFrequently: true })!;
  context.drawImage(sheet, 0, 0);
  return data.images.map((_, i) => context.getImageData(0, i * data.side, data.side, data.side));
}

export function attention(report: Report, corrections: Corrections): HTMLElement | null {
  const data = report.attention;
  if (!data || data.images.length === 0) return null;
  const strip = h('div', { class: 'strip', role: 'group', 'aria-label': 'Images' });
  const place = h('div', { class: 'looks' });
  const showAll = (views: ImageData[]) => {
    const viewer = new Viewer(report, corrections, data, views, place);
    const buttons = data.images.map((image, example) => {
      const canvas = h('canvas', { width: data.side, height: data.side, 'aria-hidden': 'true' });
      canvas.getContext('2d')!.putImageData(views[example]!, 0, 0);
      return h('button', { type: 'button', class: report.classes[report.images.class[image]!]!.is_new ? 'new' : 'old', click: () => show(example) }, canvas);
    });
    const show = (example: number) => {
      buttons.forEach((button, i) => button.setAttribute('aria-pressed', String(i === example)));
      viewer.show(example);
    };
    const refresh = () => {
      buttons.forEach((button, example) => {
        const image = data.images[example]!;
        button.title = button.ariaLabel = `${corrections.nameOf(report.images.class[image]!)}: ${report.images.path[image]}`;
      });
      viewer.refresh();
    };
    corrections.onChange(refresh);
    strip.append(...buttons);
    show(0);
    refresh();
  };
  const fail = (error: unknown) => {
    strip.remove();
    place.replaceChildren(h('p', { class: 'note' }, `The pictures could not be shown: ${reason(error)}`));
  };
  whenNear(strip, () => void cutViews(data).then(showAll).catch(fail));
  return section(
    'attention',
    'Where it looks',
    `Attention of the CLS token in the last block, per head, before and after training. Red is most; the number says on how much of the picture half of a head's attention lies. First the most typical images of classes, new ones with a warm frame, then the most outlying images of all.`,
    strip,
    place,
  );
}
