// What else is in the collection: labels that look wrong, pictures that are there several times, poor images.
import type { Findings, Report } from './data';
import { count, counted, h, section } from './dom';
import { SpriteSheets } from './thumbnails';

type Shown = Findings['kinds'][number]['shown'][number];

const kTitles: Record<string, [string, string]> = {
  'label-error': ['Labels that look wrong', 'What the other labelled images say, by the backbone alone: the clearest come first. No label was changed.'],
  'near-duplicate': ['Near-duplicates', 'The same picture several times. Pictures that have two classes come first, then those that are labelled here and unlabelled there.'],
  dark: ['Very dark', ''],
  blurred: ['Blurred', ''],
  tiny: ['Tiny', ''],
  foreign: ['Unlike all that is labelled', 'Farther from every labelled class than those are from each other, by the backbone alone: strays of no class, or new classes that are very different. The most foreign come first; --set-foreign-aside keeps them out of training.'],
};

export function findings(report: Report): HTMLElement | null {
  const all = report.findings;
  if (!all) return null;
  const sheets = new SpriteSheets(all.images.sprites, 'finding');
  const picture = (image: number) => {
    const path = all.images.path[image] ?? '';
    const tile = sheets.tile(all.images.thumbnail[image] ?? -1, path);
    const link = all.images.link[image];
    return link ? h('a', { href: link, target: '_blank', rel: 'noopener', 'aria-label': path }, tile) : tile;
  };
  const known = (name: string, set: string) => (name ? `labelled as ${name}` : set);
  const one = (shown: Shown, words: string) => h('figure', { role: 'listitem' }, picture(shown.image), h('figcaption', {}, words, h('small', {}, all.images.path[shown.image] ?? '')));

  const list = (kind: string, shown: Shown[]): HTMLElement[] => {
    if (kind === 'label-error') return shown.map((error) => one(error, `${error.class}, looks like ${error.other_class}`));
    if (kind !== 'near-duplicate') return shown.map((image) => one(image, known(image.class, image.set)));
    const groups = new Map<number, Shown[]>();
    for (const image of shown) groups.set(image.repeats!, [...(groups.get(image.repeats!) ?? []), image]);
    return [...groups].map(([first, others]) => {
      const words = [others[0]!.other_class || 'no label', ...others.map((image) => known(image.class, image.set))].join(' = ');
      const paths = [first, ...others.map((image) => image.image)];
      return h(
        'figure',
        { role: 'listitem' },
        ...paths.map(picture),
        h('figcaption', {}, words, ...paths.map((image) => h('small', {}, all.images.path[image] ?? ''))),
      );
    });
  };
  const parts = all.kinds
    .filter((kind) => kind.count > 0)
    .map(({ kind, count: total, shown }) => {
      const [title, note] = kTitles[kind] ?? [kind, ''];
      const rest = total - shown.length;
      return h(
        'div',
        { class: 'finding', 'data-kind': kind },
        h('h3', {}, `${title}: ${count(total)}`),
        note ? h('p', { class: 'note' }, note) : null,
        h('div', { class: 'found', role: 'list' }, ...list(kind, shown)),
        rest > 0 ? h('p', { class: 'note' }, `${counted(rest, 'more is', 'more are')} in findings.csv.`) : null,
      );
    });
  const unchecked = all.unchecked.filter((words) => words).map((words) => h('p', { class: 'note' }, `Not looked for: ${words}.`));
  if (parts.length + unchecked.length === 0) return null;
  return section('findings', 'What else is in the collection', 'All of it is in findings.csv in the run\u2019s folder.', ...parts, ...unchecked);
}
