// One card a class, and everything in it on a click.
import type { Report } from './data';
import type { Corrections } from './corrections';
import { choice, count, h, pages, percent, section } from './dom';
import type { Thumbnails } from './thumbnails';

const kCardsAtOnce = 48;

type Order = 'images' | 'name' | 'confidence' | 'compactness';

export class Classes {
  readonly element: HTMLElement;
  private readonly grid = h('div', { class: 'cards' });
  private readonly members: number[][];
  private readonly cards = new Map<number, { card: HTMLElement; said: string }>();
  private drawn = 0; // how often: an older drawing ends where a newer one began
  private readonly empty = h('p', { class: 'note', hidden: true }, 'No class of that name.');
  private query = '';
  private kind: 'all' | 'old' | 'new' = 'all';
  private order: Order = 'images';

  constructor(
    private readonly report: Report,
    private readonly thumbnails: Thumbnails,
    private readonly corrections: Corrections,
    private readonly colours: string[],
  ) {
    this.members = report.classes.map(() => []);
    report.images.class.forEach((k, image) => this.members[k]?.push(image));
    const typicality = report.images.typicality;
    for (const list of this.members) list.sort((a, b) => typicality[b]! - typicality[a]!);
    this.element = section(
      'classes',
      'Classes',
      'The most typical images of each class, then the least typical ones. Click a card to see all of it, to name it or to correct it.',
      this.controls(),
      this.grid,
      this.empty,
    );
    corrections.onChange(() => this.refresh());
    this.draw();
  }

  private controls(): HTMLElement {
    const search = h('input', {
      type: 'search',
      placeholder: 'Search classes',
      'aria-label': 'Search classes',
      input: (event) => {
        this.query = (event.target as HTMLInputElement).value.trim().toLowerCase();
        this.draw();
      },
    });
    return h(
      'div',
      { class: 'controls' },
      search,
      choice('Show', [['all', 'all classes'], ['new', 'new classes'], ['old', 'known classes']], (value) => {
        this.kind = value as typeof this.kind;
        this.draw();
      }),
      choice('Sort by', [['images', 'size'], ['name', 'name'], ['confidence', 'confidence'], ['compactness', 'compactness']], (value) => {
        this.order = value as Order;
        this.draw();
      }),
    );
  }

  private draw(): void {
    const { classes } = this.report;
    const shown = classes
      .map((_, k) => k)
      .filter((k) => this.kind === 'all' || classes[k]!.is_new === (this.kind === 'new'))
      .filter((k) => `${this.corrections.nameOf(k)} ${classes[k]!.name} ${classes[k]!.truth}`.toLowerCase().includes(this.query));
    const value = (k: number): number => {
      if (this.order === 'images') return -classes[k]!.images;
      if (this.order === 'confidence') return -classes[k]!.confidence;
      return -(classes[k]!.compactness ?? -2);
    };
    shown.sort((a, b) => {
      if (this.order === 'name') return this.corrections.nameOf(a).localeCompare(this.corrections.nameOf(b));
      const newFirst = Number(classes[b]!.is_new) - Number(classes[a]!.is_new);
      return (this.kind === 'all' && newFirst) || value(a) - value(b);
    });
    this.cards.clear();
    this.grid.replaceChildren();
    this.empty.hidden = shown.length > 0;
    this.add(shown, ++this.drawn);
  }

  /** Cards some at a time: the first screen does not wait for a thousand classes. */
  private add(list: number[], drawing: number): void {
    if (drawing !== this.drawn) return;
    for (const k of list.slice(0, kCardsAtOnce)) {
      const card = h('button', { type: 'button', 'data-class': this.report.classes[k]!.name, click: () => this.open(k) });
      card.style.setProperty('--colour', this.colours[k] ?? '#888');
      this.cards.set(k, { card, said: '' });
      this.fill(k);
      this.grid.append(card);
    }
    const rest = list.slice(kCardsAtOnce);
    if (rest.length) requestAnimationFrame(() => setTimeout(() => this.add(rest, drawing)));
  }

  /** What was corrected is said on its card, which stays where it is and keeps the focus. */
  private refresh(): void {
    for (const k of this.cards.keys()) this.fill(k);
  }

  private fill(k: number): void {
    const entry = this.cards.get(k)!;
    const one = this.report.classes[k]!;
    const members = this.members[k]!;
    const merged = this.corrections.find('merge', one.name);
    const accepted = this.corrections.find('accept', one.name);
    const said = JSON.stringify([this.corrections.nameOf(k), merged?.target, !!accepted]);
    if (said === entry.said) return;
    entry.said = said;
    const most = members.slice(0, 4);
    const least = members.slice(Math.max(4, members.length - 4)).reverse();
    const row = (label: string, list: number[]) =>
      h('div', { class: 'examples' }, h('small', {}, label), ...list.map((image) => this.thumbnails.tile(image)));
    const parts = [
      h('span', { class: 'name' }, h('i', { class: 'dot' }), this.corrections.nameOf(k), h('em', {}, one.is_new ? 'new' : 'known')),
      h(
        'span',
        { class: 'facts' },
        `${count(one.images)} images, ${percent(100 * one.confidence, 0)} sure`,
        one.compactness !== null ? `, compactness ${one.compactness.toFixed(2)}` : '',
      ),
      one.truth ? h('span', { class: 'facts' }, `in truth ${one.truth} (${percent(100 * one.truth_share, 0)})`) : null,
      merged ? h('span', { class: 'mark' }, `merged into ${merged.target}`) : null,
      accepted ? h('span', { class: 'mark' }, 'accepted') : null,
      most.length ? row('most typical', most) : h('span', { class: 'facts' }, 'no image'),
      least.length ? row('least typical', least) : null,
    ];
    entry.card.className = `card ${one.is_new ? 'new' : 'old'}`;
    entry.card.replaceChildren(...parts.filter((part) => part !== null));
  }

  /** A class with all its images; what is wrong can be said here. */
  open(k: number, highlight = -1): void {
    const one = this.report.classes[k]!;
    const { corrections } = this;
    const name = h('input', { type: 'text', value: corrections.nameOf(k), 'aria-label': 'Name of the class' });
    const others = this.report.classes.filter((_, i) => i !== k).map((other) => h('option', { value: other.name }, other.name));
    const into = h('select', { 'aria-label': 'Merge into' }, h('option', { value: '' }, 'merge into …'), ...others);
    const rename = () => {
      const target = name.value.trim();
      if (target && target !== one.name) corrections.add({ action: 'rename', path: '', class: one.name, target });
      else corrections.remove('rename', one.name);
    };
    into.addEventListener('change', () => {
      if (into.value) corrections.add({ action: 'merge', path: '', class: one.name, target: into.value });
      else corrections.remove('merge', one.name);
    });
    const accept = h('button', { type: 'button' }, '');
    const sayAccept = () => {
      accept.textContent = corrections.find('accept', one.name) ? 'Accepted ✓' : 'Accept as a class';
      accept.setAttribute('aria-pressed', String(!!corrections.find('accept', one.name)));
    };
    accept.addEventListener('click', () => {
      if (corrections.find('accept', one.name)) corrections.remove('accept', one.name);
      else corrections.add({ action: 'accept', path: '', class: one.name, target: corrections.nameOf(k) });
      sayAccept();
    });
    sayAccept();
    into.value = corrections.find('merge', one.name)?.target ?? '';
    const close = h('button', { class: 'close', type: 'button', 'aria-label': 'Close', click: () => dialog.close() }, '×');
    const images = highlight >= 0 ? [highlight, ...this.members[k]!.filter((image) => image !== highlight)] : this.members[k]!;
    const nearest = one.nearest.map((other) =>
      h('button', { type: 'button', class: 'link', click: () => { dialog.close(); this.open(other.class); } }, `${corrections.nameOf(other.class)} (${other.cosine.toFixed(2)})`),
    );
    const dialog = h(
      'dialog',
      { class: 'class-dialog', 'aria-label': `Class ${one.name}` },
      close,
      h('h2', {}, corrections.nameOf(k)),
      h('p', { class: 'note' }, `${count(one.images)} images, the most typical first. Click an image that does not belong here.`),
      h(
        'form',
        { class: 'controls', submit: (event) => { event.preventDefault(); rename(); dialog.querySelector('h2')!.textContent = corrections.nameOf(k); } },
        name,
        h('button', { type: 'submit' }, 'Rename'),
        into,
        accept,
      ),
      nearest.length ? h('p', {}, 'Nearest classes: ', ...nearest) : null,
      pages(images, 200, (image) => this.member(image, one.name)),
    );
    document.body.append(dialog);
    dialog.addEventListener('close', () => dialog.remove());
    dialog.showModal();
  }

  private member(image: number, name: string): HTMLElement {
    const path = this.report.images.path[image]!;
    const button = h('button', { class: 'tile', type: 'button', role: 'listitem' }, this.thumbnails.tile(image));
    const say = () => {
      const wrong = !!this.corrections.find('wrong', name, path);
      button.classList.toggle('wrong', wrong);
      button.setAttribute('aria-pressed', String(wrong));
    };
    button.addEventListener('click', () => {
      if (this.corrections.find('wrong', name, path)) this.corrections.remove('wrong', name, path);
      else this.corrections.add({ action: 'wrong', path, class: name, target: '' });
      say();
    });
    say();
    return button;
  }
}
