// The features in two dimensions: every image a point, every prototype a star.
import createScatterplot from 'regl-scatterplot';
import type { FeatureMap, Report } from './data';
import { scale } from './colours';
import type { Corrections } from './corrections';
import { choice, count, counted, h, reason, section, whenNear } from './dom';
import { likelyWords } from './likely';
import type { Thumbnails } from './thumbnails';
import { imageButton, nameField } from './tiles';

const kTilesShown = 300;

/** What is chosen in the lists above the map, whether it is drawn already or not. */
interface Choice {
  when: 'after' | 'before';
  colouring: 'class' | 'truth' | 'confidence' | 'outlier';
}

/** x, y pairs into [-1, 1], both axes by the same factor. */
function fitted(points: number[], like = points): number[] {
  const low = [Infinity, Infinity];
  const high = [-Infinity, -Infinity];
  for (let i = 0; i < like.length; i++) {
    low[i % 2] = Math.min(low[i % 2]!, like[i]!);
    high[i % 2] = Math.max(high[i % 2]!, like[i]!);
  }
  const middle = [(low[0]! + high[0]!) / 2, (low[1]! + high[1]!) / 2];
  const half = Math.max(high[0]! - low[0]!, high[1]! - low[1]!, 1e-9) / 2 / 0.95;
  return points.map((value, i) => (value - middle[i % 2]!) / half);
}

/** Positions in 0..1 by rank, so that a few extreme values do not hide the rest. */
function ranks(values: number[]): number[] {
  const order = values.map((_, i) => i).sort((a, b) => values[a]! - values[b]!);
  const result = new Array<number>(values.length);
  order.forEach((index, rank) => (result[index] = values.length > 1 ? rank / (values.length - 1) : 0));
  return result;
}

const paper = () => getComputedStyle(document.documentElement).getPropertyValue('--paper').trim() || '#ffffff';

/** The drawn map. Making one takes a WebGL context and, in software, seconds. */
class Plot {
  private drawing = false;
  private outdated = false;
  private readonly plot: ReturnType<typeof createScatterplot>;
  private readonly centres: number[];
  private outlier: number[] | null = null;

  constructor(
    private readonly report: Report,
    private readonly corrections: Corrections,
    private readonly data: FeatureMap,
    private readonly choice: Choice,
    private readonly colours: string[],
    private readonly stage: HTMLElement,
    private readonly canvas: HTMLCanvasElement,
    private readonly stars: HTMLElement,
  ) {
    const points = data.rows.length;
    this.plot = createScatterplot({
      canvas,
      pointSize: points > 10000 ? 2 : points > 3000 ? 4 : 6,
      opacity: 0.85,
      lassoColor: '#d9480f',
      lassoOnLongPress: true,
      backgroundColor: paper(),
    });
    this.centres = fitted(data.prototypes, data.after);
    report.classes.forEach((one, k) => {
      const star = h('span', { class: one.is_new ? 'star new' : 'star old' }, '★');
      const name = () => (star.title = this.corrections.nameOf(k));
      corrections.onChange(name);
      name();
      star.style.color = colours[k] ?? '#888';
      stars.append(star);
    });
    this.plot.subscribe('view', () => this.placeStars());
    new ResizeObserver(() => this.resize()).observe(stage);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.plot.set({ backgroundColor: paper() }));
    this.resize();
  }

  onPoint(over: (row: number, x: number, y: number) => void, out: () => void): void {
    this.plot.subscribe('pointOver', (row: number) => {
      const [x, y] = this.plot.getScreenPosition(row) ?? [0, 0];
      over(row, x, y);
    });
    this.plot.subscribe('pointOut', out);
  }
  onChoice(chosen: (rows: number[]) => void): void {
    this.plot.subscribe('select', ({ points }: { points: number[] }) => chosen(points));
    this.plot.subscribe('deselect', () => chosen([]));
  }

  /** Draws what is chosen; a choice that is made meanwhile is drawn after it, since the library refuses to do both. */
  async draw(): Promise<void> {
    this.outdated = true;
    if (this.drawing) return;
    this.drawing = true;
    try {
      while (this.outdated) {
        this.outdated = false;
        await this.drawOnce();
      }
    } finally {
      this.drawing = false;
    }
  }
  private async drawOnce(): Promise<void> {
    const { rows, before, after } = this.data;
    const { when, colouring } = this.choice;
    const at = fitted(when === 'before' && before ? before : after);
    const x = rows.map((_, i) => at[2 * i]!);
    const y = rows.map((_, i) => at[2 * i + 1]!);
    this.plot.set({ colorBy: 'valueA', pointColor: this.palette() });
    await this.plot.draw({ x, y, z: rows.map((_, i) => this.category(i)) }, { zDataType: 'categorical' });
    this.placeStars();
    this.canvas.dataset.drawn = `${when} ${colouring}`;
  }

  showAll(): void {
    void this.plot.reset();
    this.placeStars();
  }

  private category(row: number): number {
    const { images } = this.report;
    const image = this.data.rows[row]!;
    if (this.choice.colouring === 'class') return images.class[image]!;
    if (this.choice.colouring === 'truth') return Math.max(0, images.truth[image]!);
    this.outlier ??= ranks(this.data.rows.map((one) => images.outlier_score[one]!));
    const share = this.choice.colouring === 'confidence' ? 1 - images.confidence[image]! : this.outlier[row]!;
    return Math.round(share * (scale.length - 1));
  }
  private palette(): string[] {
    if (this.choice.colouring === 'class') return this.colours;
    if (this.choice.colouring === 'truth') return this.report.truths.map((_, i) => this.colours[i % this.colours.length] ?? '#888');
    return scale;
  }

  private resize(): void {
    const box = this.stage.getBoundingClientRect();
    if (box.width < 1) return;
    this.plot.set({ width: box.width, height: box.height });
    this.placeStars();
  }
  private placeStars(): void {
    this.stars.hidden = this.choice.when === 'before';
    // The camera's view is a 4x4 matrix by columns; x is stretched by the canvas' shape.
    const view = this.plot.get('cameraView') as Float32Array | undefined;
    const m = view ?? new Float32Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
    const aspect = this.stage.clientWidth / Math.max(1, this.stage.clientHeight);
    Array.from(this.stars.children).forEach((node, k) => {
      const px = (m[0]! * this.centres[2 * k]! + m[12]!) / aspect;
      const py = m[5]! * this.centres[2 * k + 1]! + m[13]!;
      (node as HTMLElement).style.left = `${50 * (px + 1)}%`;
      (node as HTMLElement).style.top = `${50 * (1 - py)}%`;
    });
  }
}

/** The images that were chosen, and what can be said of all of them. */
function selection(images: number[], corrections: Corrections, thumbnails: Thumbnails, open: (image: number) => void): { elements: Node[]; refresh: () => void } {
  const tiles = images.slice(0, kTilesShown).map((image) => imageButton(image, thumbnails, corrections, () => open(image)));
  const target = nameField();
  const done = h('p', { role: 'status' });
  const move = () => {
    const name = target.value.trim();
    if (!name) return target.focus();
    const moved = corrections.move(images, name);
    const stayed = images.length - moved;
    done.textContent = `${counted(moved, 'image')} moved to ${name}${stayed ? `; ${count(stayed)} ${stayed === 1 ? 'was' : 'were'} predicted as it already` : ''}.`;
  };
  const accept = () => {
    corrections.say('accept', images);
    done.textContent = `${counted(images.length, 'image')} accepted, each as what it was predicted.`;
  };
  const form = h(
    'form',
    { class: 'controls', submit: (event) => { event.preventDefault(); move(); } },
    h('strong', {}, `${counted(images.length, 'image')} chosen`),
    target,
    h('button', { type: 'submit' }, 'Move them there'),
    h('button', { type: 'button', click: accept }, 'Accept these'),
  );
  return { elements: [form, done, h('div', { class: 'tiles', role: 'list' }, ...tiles.map((tile) => tile.element))], refresh: () => tiles.forEach((tile) => tile.refresh()) };
}

export function map(report: Report, corrections: Corrections, thumbnails: Thumbnails, colours: string[], open: (image: number) => void): HTMLElement | null {
  const data = report.map;
  if (!data || data.rows.length === 0) return null;
  const canvas = h('canvas', { 'aria-label': `Map of ${count(data.rows.length)} images`, role: 'img', tabindex: 0 });
  const hover = h('div', { class: 'hover', hidden: true });
  const chosen = h('div', { class: 'chosen' });
  const stars = h('div', { class: 'stars', 'aria-hidden': 'true' });
  const stage = h('div', { class: 'stage' }, canvas, stars, hover);
  const wanted: Choice = { when: 'after', colouring: 'class' };
  let plot: Plot | null = null;

  const showHover = (row: number, x: number, y: number) => {
    const image = data.rows[row]!;
    hover.replaceChildren(thumbnails.tile(image), h('span', {}, likelyWords(report, corrections, image) || corrections.nameOf(report.images.class[image]!)));
    hover.style.left = `${x + 12}px`;
    hover.style.top = `${y + 12}px`;
    hover.hidden = false;
  };
  let refreshChosen = () => {};
  corrections.onChange(() => refreshChosen());
  const showChosen = (rows: number[]) => {
    const { elements, refresh } = selection(rows.map((row) => data.rows[row]!), corrections, thumbnails, open);
    refreshChosen = refresh;
    chosen.replaceChildren(...(rows.length ? elements : []));
  };
  const fail = (error: unknown) => {
    const why = document.createElement('canvas').getContext('webgl') ? `The map could not be drawn: ${reason(error)}` : 'This browser has no WebGL, which the map is drawn with.';
    stage.replaceWith(h('p', { class: 'note' }, why));
    controls.remove();
  };
  whenNear(stage, () => {
    try {
      plot = new Plot(report, corrections, data, wanted, colours, stage, canvas, stars);
      plot.onPoint(showHover, () => (hover.hidden = true));
      plot.onChoice(showChosen);
      plot.draw().catch(fail);
    } catch (error) {
      fail(error);
    }
  });

  const colourings: [string, string][] = [['class', 'predicted class']];
  if (report.truths.length) colourings.push(['truth', 'true class']);
  colourings.push(['confidence', 'uncertainty'], ['outlier', 'outlier score']);
  const change = (what: Partial<Choice>) => {
    Object.assign(wanted, what);
    plot?.draw().catch(fail);
  };
  const controls = h(
    'div',
    { class: 'controls' },
    data.before ? choice('Features', [['after', 'after training'], ['before', 'before training']], (value) => change({ when: value as Choice['when'] })) : null,
    choice('Colour by', colourings, (value) => change({ colouring: value as Choice['colouring'] })),
    h('button', { type: 'button', click: () => plot?.showAll() }, 'Whole map'),
  );
  return section(
    'map',
    'Map',
    'Near images look alike to the model; stars are the prototypes, cool colours are known classes, warm ones new. Scroll to zoom, drag to move, hold shift and drag (or press long) to choose images, and to move or accept them.',
    controls,
    stage,
    chosen,
  );
}
