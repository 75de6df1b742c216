import uPlot from 'uplot';
import type { Group, Intervals, Report } from './data';
import { count, duration, h, kWholeNumbers, percent, section } from './dom';

export function summary(report: Report): HTMLElement {
  const s = report.summary;
  const card = (value: string, label: string, detail = '', kind = '') =>
    h('div', { class: `figure ${kind}` }, h('strong', {}, value), h('span', {}, label), detail ? h('small', {}, detail) : null);
  const cards = h('div', { class: 'figures' });
  cards.append(
    card(count(s.unlabelled), 'unlabelled images', `${count(s.labelled)} labelled`),
    card(count(s.k_old), 'known classes', '', 'old'),
    card(count(s.k_new), 'new classes found', report.estimate ? `${report.estimate.low} to ${report.estimate.high} classes in all` : '', 'new'),
    card(count(s.outliers), 'images to look at', 'the least typical ones'),
  );
  if (s.all !== null) {
    const right = card(percent(s.all), 'right', `known ${percent(s.old)}, new ${percent(s.new)}`);
    if (s.intervals) right.append(chance(s.intervals));
    cards.append(right);
  }
  const counting = report.estimate?.seconds ? `, ${duration(report.estimate.seconds)} of it to count classes` : '';
  const trying = report.tuning?.seconds ? `, ${duration(report.tuning.seconds)} of it to try settings` : '';
  cards.append(card(duration(s.seconds), s.epochs ? `${s.epochs} epochs` : 'without training', `${s.device}${counting}${trying}`));
  const children: Node[] = [cards];
  if (s.suspect) children.push(h('p', { class: 'problem', role: 'note' }, sentence(s.suspect)));
  const shown = report.images.path.length;
  if (shown < report.images.total) {
    const words = `This page shows ${count(shown)} of the ${count(report.images.total)} images: those of the map, of the classes' cards and of what to label next, and others evenly. Numbers are of all images, and predictions.csv lists them all.`;
    children.push(h('p', { role: 'note' }, words));
  }
  if (s.next) children.push(h('p', { class: 'lead', role: 'note' }, 'This was a first look, without training. Now train: ', h('code', {}, s.next)));
  if (report.estimate) children.push(estimate(report));
  if (report.tuning) children.push(h('p', { class: 'tuning' }, report.tuning.words));
  if (s.confidence) children.push(h('p', { class: 'confidence' }, sentence(s.confidence)));
  return section('summary', 'Summary', '', ...children);
}

/** How far chance alone moves the accuracies: one line, the groups on hover. */
function chance(intervals: Intervals): HTMLElement {
  const between = (group: Group) => (intervals[group] ? `${intervals[group][0].toFixed(1)} to ${percent(intervals[group][1])}` : '–');
  const title = `95% intervals over images (bootstrap): all ${between('all')}, known ${between('old')}, new ${between('new')}`;
  return h('small', { class: 'chance', title }, `95%: ${between('all')}`);
}

const sentence = (words: string): string => `${words[0]!.toUpperCase()}${words.slice(1)}.`;

const kSmoothed = ' It is read from these values smoothed, so a single point may lie higher.';
/** Why the estimate need not be the highest point, by what decided (discovery/class_number.h). */
const kReadings: Record<string, string> = {
  clusters: kSmoothed,
  'frozen clusters': kSmoothed,
  neighbours: ' It comes from nearest neighbours, not from these values.',
  'algorithm 1': ' It is where a binary search ended, which may pass by a higher point.',
};

/** The score of every number of classes that was tried, with the estimate and its interval. */
function estimate(report: Report): HTMLElement {
  const found = report.estimate!;
  const box = h('figure', { class: 'estimate' }, h('p', {}, found.words));
  if (found.curve.length < 2) return box;
  const marked = found.curve.find((point) => point.k === found.k);
  const [first, last] = [found.curve[0]!, found.curve[found.curve.length - 1]!];
  const chart = h('div', {
    class: 'chart',
    role: 'img',
    'aria-label': `Score of ${first.k} to ${last.k} classes: ${first.score.toFixed(3)} for ${first.k}, ${last.score.toFixed(3)} for ${last.k}, and ${marked ? `${marked.score.toFixed(3)} for ` : ''}the estimate, ${found.k}`,
  });
  box.append(chart, h('figcaption', {}, `Score by number of classes, higher is better. The line is the estimate, ${found.k}; the band is its interval, ${found.low} to ${found.high}.${kReadings[found.by] ?? ''}`));
  const band = (plot: uPlot) => {
    const { ctx, bbox } = plot;
    const x = (k: number) => plot.valToPos(k, 'x', true);
    ctx.save();
    ctx.fillStyle = 'rgb(217 72 15 / .14)';
    ctx.fillRect(x(found.low), bbox.top, Math.max(2, x(found.high) - x(found.low)), bbox.height);
    ctx.strokeStyle = '#d9480f';
    ctx.setLineDash([6, 5]);
    ctx.lineWidth = 2;
    ctx.beginPath();
    ctx.moveTo(x(found.k), bbox.top);
    ctx.lineTo(x(found.k), bbox.top + bbox.height);
    ctx.stroke();
    ctx.restore();
  };
  requestAnimationFrame(() => {
    new uPlot(
      {
        width: Math.max(280, Math.min(900, box.clientWidth || 720)),
        height: 190,
        legend: { show: false },
        cursor: { show: false },
        scales: { x: { time: false } },
        series: [{}, { stroke: '#d9480f', width: 2, points: { show: found.curve.length < 60, size: 5 } }],
        axes: [{ size: 34, incrs: kWholeNumbers }, { size: 54 }],
        hooks: { drawClear: [band] },
      },
      [found.curve.map((p) => p.k), found.curve.map((p) => p.score)],
      chart,
    );
  });
  return box;
}
