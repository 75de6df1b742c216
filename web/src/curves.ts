import uPlot from 'uplot';
import type { ByEpoch, EpochScores, Group, Report, Scores } from './data';
import { h, kWholeNumbers, percent, section, whenNear } from './dom';

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
  const note = 'Hover for values; a click on a name hides its line.';
  return section('training', 'Training', note, box, report.by_epoch ? lastAndBest(report.by_epoch) : null);
}

/** The last epoch, which the model is of, beside those that the truth calls best. */
function lastAndBest(by: ByEpoch): HTMLElement {
  const groups: [Group, string][] = [['all', 'all'], ['old', 'known'], ['new', 'new']];
  const sets = (['unlabelled', 'test'] as const).filter((set) => by.last[set]);
  const cell = (scores: Scores | undefined, group: Group) => {
    const interval = scores?.intervals?.[group];
    return h('td', interval ? { title: `95% interval over images: ${interval[0].toFixed(1)} to ${percent(interval[1])}` } : {}, percent(scores?.[group] ?? null));
  };
  const row = (name: string, one: EpochScores | undefined) =>
    one ? h('tr', {}, h('th', { scope: 'row' }, name), h('td', {}, one.epoch + 1), ...sets.flatMap((set) => groups.map(([group]) => cell(one[set], group)))) : null;
  const heads = sets.flatMap((set) => groups.map(([, name]) => h('th', { scope: 'col' }, set === 'test' ? `test, ${name}` : name)));
  return h(
    'details',
    { class: 'epochs' },
    h('summary', {}, 'Last and best epochs'),
    h(
      'p',
      { class: 'note' },
      `The best of ${by.evaluated_epochs} evaluated epochs by the truth: an oracle, as published numbers often are, and nothing to be had for images without labels. The model is the last epoch's.`,
    ),
    h(
      'div',
      { class: 'scroll' },
      h(
        'table',
        {},
        h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, ''), h('th', { scope: 'col' }, 'epoch'), ...heads)),
        h('tbody', {}, row('last', by.last), row('best on the unlabelled images', by.best_on_unlabelled), row('best on the test images', by.best_on_test)),
      ),
    ),
  );
}
