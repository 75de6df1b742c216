import uPlot from 'uplot';
import type { Report } from './data';
import { count, duration, h, percent, section } from './dom';

export function summary(report: Report): HTMLElement {
  const s = report.summary;
  const card = (value: string, label: string, detail = '', kind = '') =>
    h('div', { class: `figure ${kind}` }, h('strong', {}, value), h('span', {}, label), detail ? h('small', {}, detail) : null);
  const cards = h('div', { class: 'figures' });
  cards.append(
    card(count(s.unlabelled), 'unlabelled images', `${count(s.labelled)} labelled`),
    card(count(s.k_old), 'known classes', '', 'old'),
    card(count(s.k_new), 'new classes found', report.estimate ? `${report.estimate.low} to ${report.estimate.high} classes in all` : '', 'new'),
    card(count(s.outliers), 'images to look at', 'they fit no class well'),
  );
  if (s.all !== null) {
    cards.append(card(percent(s.all), 'right', `known ${percent(s.old)}, new ${percent(s.new)}`));
  }
  cards.append(card(duration(s.seconds), `${s.epochs} epochs`, s.device));
  const children: Node[] = [cards];
  if (report.estimate) children.push(estimate(report));
  return section('summary', 'Summary', '', ...children);
}

function estimate(report: Report): HTMLElement {
  const found = report.estimate!;
  const box = h('div', { class: 'chart' }, h('p', {}, found.words));
  if (found.curve.length > 1) {
    queueMicrotask(() => {
      new uPlot(
        {
          width: Math.min(720, box.clientWidth || 720),
          height: 200,
          scales: { x: { time: false } },
          series: [{ label: 'classes' }, { label: 'score', stroke: '#d9480f', width: 2, points: { show: true } }],
          axes: [{ label: 'number of classes' }, { label: 'score' }],
        },
        [found.curve.map((p) => p.k), found.curve.map((p) => p.score)],
        box,
      );
    });
  }
  return box;
}
