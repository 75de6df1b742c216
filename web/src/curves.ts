import uPlot from 'uplot';
import type { Report } from './data';
import { h, kWholeNumbers, section, whenNear } from './dom';

const kColours = ['#1c7ed6', '#d9480f', '#2b8a3e', '#862e9c', '#e67700', '#0b7285', '#c2255c', '#5c940d'];

export function curves(report: Report): HTMLElement | null {
  if (report.epochs.length < 2) return null;
  const box = h('div', { class: 'charts' });
  const epochs = report.epochs.map((e) => e.epoch + 1);
  const draw = (title: string, names: string[], values: (number | null)[][]) => {
    const ends = names.map((name, i) => {
      const known = values[i]!.filter((value): value is number => value !== null);
      return known.length ? `${name} from ${known[0]!.toPrecision(3)} to ${known[known.length - 1]!.toPrecision(3)}` : `${name} unknown`;
    });
    const place = h('figure', { 'aria-label': `${title}: ${ends.join(', ')}` }, h('figcaption', {}, title));
    box.append(place);
    whenNear(place, () => {
      new uPlot(
        {
          width: Math.max(280, Math.min(620, place.clientWidth || 560)),
          height: 260,
          scales: { x: { time: false } },
          axes: [{ incrs: kWholeNumbers }, {}],
          series: [
            { label: 'epoch' },
            ...names.map((label, i) => ({ label, stroke: kColours[i % kColours.length]!, width: 1.5, spanGaps: true })),
          ],
        },
        [epochs, ...values],
        place,
      );
    });
  };
  const keys = Object.keys(report.epochs[0]!.loss);
  if (report.epochs.filter((e) => e.all !== null).length > 1) {
    draw('Accuracy on the unlabelled images, %', ['all', 'known', 'new'], [
      report.epochs.map((e) => e.all),
      report.epochs.map((e) => e.old),
      report.epochs.map((e) => e.new),
    ]);
  }
  draw('Losses', keys, keys.map((key) => report.epochs.map((e) => e.loss[key] ?? null)));
  return section('training', 'Training', 'Hover for values; a click on a name hides its line.', box);
}
