// The features in two dimensions: every image a point, every prototype a star.
import createScatterplot from 'regl-scatterplot';
import type { Report } from './data';
import { scale } from './colours';
import { h, section } from './dom';
import type { Thumbnails } from './thumbnails';

type Colouring = 'class' | 'truth' | 'confidence' | 'outlier';

/** x, y pairs into [-1, 1], both axes by the same factor. */
function fitted(points: number[], like = points): number[] {
  let low = [Infinity, Infinity];
  let high = [-Infinity, -Infinity];
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

export function map(report: Report, thumbnails: Thumbnails, colours: string[], open: (image: number) => void): HTMLElement | null {
  const data = report.map;
  if (!data || data.rows.length === 0) return null;
  const canvas = h('canvas', { 'aria-label': 'Map of the images', role: 'img', tabindex: 0 });
  const hover = h('div', { class: 'hover', hidden: true });
  const chosen = h('div', { class: 'chosen', 'aria-live': 'polite' });
  const stars = h('div', { class: 'stars', 'aria-hidden': 'true' });
  const stage = h('div', { class: 'stage' }, canvas, stars, hover);
  let when: 'after' | 'before' = 'after';
  let colouring: Colouring = 'class';

  const outlier = ranks(data.rows.map((image) => report.images.outlier_score[image]!));
  const truthColours = report.truths.map((_, i) => colours[i % colours.length] ?? '#888');
  const positions = () => fitted(when === 'before' && data.before ? data.before : data.after);
  const category = (row: number): number => {
    const image = data.rows[row]!;
    if (colouring === 'class') return report.images.class[image]!;
    if (colouring === 'truth') return Math.max(0, report.images.truth[image]!);
    const share = colouring === 'confidence' ? 1 - report.images.confidence[image]! : outlier[row]!;
    return Math.round(share * (scale.length - 1));
  };
  const palette = () => (colouring === 'class' ? colours : colouring === 'truth' ? truthColours : scale);

  const plot = createScatterplot({
    canvas,
    pointSize: data.rows.length > 10000 ? 2 : data.rows.length > 3000 ? 4 : 6,
    opacity: 0.85,
    lassoColor: '#d9480f',
    lassoOnLongPress: true,
    backgroundColor: getComputedStyle(document.documentElement).getPropertyValue('--paper').trim() || '#ffffff',
  });
  const centres = fitted(data.prototypes, data.after);
  const placeStars = () => {
    stars.hidden = when === 'before';
    const nodes = Array.from(stars.children) as HTMLElement[];
    for (let k = 0; k < report.classes.length; k++) {
      const node = nodes[k]!;
      const place = plot.get('cameraView') as Float32Array | undefined;
      const [x, y] = [centres[2 * k]!, centres[2 * k + 1]!];
      // The camera's view is a 4x4 matrix by columns; x is stretched by the canvas' shape.
      const aspect = stage.clientWidth / Math.max(1, stage.clientHeight);
      const m = place ?? new Float32Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
      const px = (m[0]! * x + m[12]!) / aspect;
      const py = m[5]! * y + m[13]!;
      node.style.left = `${50 * (px + 1)}%`;
      node.style.top = `${50 * (1 - py)}%`;
    }
  };
  report.classes.forEach((one, k) => {
    const star = h('span', { class: one.is_new ? 'star new' : 'star old', title: one.name }, '★');
    star.style.color = colours[k] ?? '#888';
    stars.append(star);
  });
  let drawn = Promise.resolve();
  const draw = () => {
    const at = positions();
    const x = data.rows.map((_, i) => at[2 * i]!);
    const y = data.rows.map((_, i) => at[2 * i + 1]!);
    plot.set({ colorBy: 'valueA', pointColor: palette() });
    drawn = plot.draw({ x, y, z: data.rows.map((_, i) => category(i)) }, { zDataType: 'categorical' }).then(placeStars);
    void drawn.then(() => (canvas.dataset.drawn = `${when} ${colouring}`));
  };
  plot.subscribe('view', placeStars);
  plot.subscribe('pointOver', (row: number) => {
    const image = data.rows[row]!;
    hover.replaceChildren(thumbnails.tile(image), h('span', {}, report.classes[report.images.class[image]!]?.name ?? ''));
    const [x, y] = plot.getScreenPosition(row) ?? [0, 0];
    hover.style.left = `${x + 12}px`;
    hover.style.top = `${y + 12}px`;
    hover.hidden = false;
  });
  plot.subscribe('pointOut', () => (hover.hidden = true));
  plot.subscribe('select', ({ points }: { points: number[] }) => {
    const shown = points.slice(0, 300).map((row) => data.rows[row]!);
    chosen.replaceChildren(
      h('p', {}, `${points.length} images chosen`),
      h('div', { class: 'tiles' }, ...shown.map((image) => h('button', { class: 'tile', type: 'button', click: () => open(image) }, thumbnails.tile(image)))),
    );
  });
  plot.subscribe('deselect', () => chosen.replaceChildren());

  const select = (label: string, choices: [string, string][], change: (value: string) => void) =>
    h('label', {}, `${label} `, h('select', { change: (event) => change((event.target as HTMLSelectElement).value) }, ...choices.map(([value, text]) => h('option', { value }, text))));
  const colourings: [string, string][] = [['class', 'predicted class']];
  if (report.truths.length) colourings.push(['truth', 'true class']);
  colourings.push(['confidence', 'uncertainty'], ['outlier', 'outlier score']);
  const controls = h(
    'div',
    { class: 'controls' },
    data.before ? select('Features', [['after', 'after training'], ['before', 'before training']], (value) => { when = value as typeof when; draw(); }) : null,
    select('Colour by', colourings, (value) => { colouring = value as Colouring; draw(); }),
    h('button', { type: 'button', click: () => { void plot.reset(); placeStars(); } }, 'Whole map'),
  );
  const resize = () => {
    const box = stage.getBoundingClientRect();
    if (box.width < 1) return;
    plot.set({ width: box.width, height: box.height });
    placeStars();
  };
  new ResizeObserver(resize).observe(stage);
  requestAnimationFrame(() => {
    resize();
    draw();
  });
  return section(
    'map',
    'Map',
    'Near images look alike to the model; stars are the prototypes, cool colours are known classes, warm ones new. Scroll to zoom, drag to move, hold shift and drag (or press long) to choose images.',
    controls,
    stage,
    chosen,
  );
}
