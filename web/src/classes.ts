// One card a class, and everything in it on a click.
import type { Report } from './data';
import type { Corrections } from './corrections';
import { choice, count, counted, h, pages, percent, section } from './dom';
import { likelyWords } from './likely';
import type { Thumbnails } from './thumbnails';
import { imageButton, nameField } from './tiles';

const kCardsAtOnce = 48;

const kStableMeans = 'stable: how much of the class trainings from other beginnings found again';
type Order = 'images' | 'name' | 'confidence' | 'stability' | 'compactness';

export class Classes {
  readonly element: HTMLElement;
  private readonly grid = h('div', { class: 'cards' });
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
      choice('Sort by', this.orders(), (value) => {
        this.order = value as Order;
        this.draw();
      }),
    );
  }

  private orders(): [Order, string][] {
    const all: [Order, string][] = [['images', 'size'], ['name', 'name'], ['confidence', 'confidence'], ['compactness', 'compactness']];
    if (this.report.classes.some((one) => one.stability !== null)) all.push(['stability', 'stability']);
    return all;
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
      if (this.order === 'stability') return -(classes[k]!.stability ?? -1);
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
    const marks = this.marks();
    for (const k of list.slice(0, kCardsAtOnce)) {
      const card = h('button', { type: 'button', 'data-class': this.report.classes[k]!.name, click: () => this.open(k) });
      card.style.setProperty('--colour', this.colours[k] ?? '#888');
      this.cards.set(k, { card, said: '' });
      this.fill(k, marks);
      this.grid.append(card);
    }
    const rest = list.slice(kCardsAtOnce);
    if (rest.length) requestAnimationFrame(() => setTimeout(() => this.add(rest, drawing)));
  }

  /** What was corrected is said on its card, which stays where it is and keeps the focus. */
  private refresh(): void {
    const marks = this.marks();
    for (const k of this.cards.keys()) this.fill(k, marks);
  }

  /** What was said of each class and its images, in words. */
  private marks(): Map<string, string[]> {
    const { corrections } = this;
    const counts = new Map<string, Map<string, number>>(); // class -> words -> images
    const marks = new Map<string, string[]>();
    const mark = (name: string, words: string) => marks.set(name, [...(marks.get(name) ?? []), words]);
    const tally = (name: string, words: string) => {
      const ofClass = counts.get(name) ?? new Map<string, number>();
      counts.set(name, ofClass.set(words, (ofClass.get(words) ?? 0) + 1));
    };
    for (const one of corrections.all()) {
      if (one.action === 'merge') mark(one.class, `merged into ${corrections.shown(one.target)}`);
      if (one.action === 'accept' && !one.path) mark(one.class, 'accepted');
      if (one.action === 'accept' && one.path) tally(one.class, 'accepted');
      if (one.action === 'wrong') tally(one.class, 'wrong');
      if (one.action === 'move') {
        tally(one.class, 'moved away');
        tally(one.target, 'moved here');
      }
    }
    for (const [name, ofClass] of counts) mark(name, `images: ${[...ofClass].map(([words, images]) => `${count(images)} ${words}`).join(', ')}`);
    return marks;
  }

  private fill(k: number, marks: Map<string, string[]>): void {
    const entry = this.cards.get(k)!;
    const one = this.report.classes[k]!;
    const members = this.corrections.members[k]!;
    const corrected = marks.get(one.name) ?? [];
    const said = JSON.stringify([this.corrections.nameOf(k), corrected]);
    if (said === entry.said) return;
    entry.said = said;
    const most = members.slice(0, 4);
    const least = members.slice(Math.max(4, members.length - 4)).reverse();
    const row = (label: string, list: number[]) =>
      h('div', { class: 'examples' }, h('small', {}, label), ...list.map((image) => this.thumbnails.tile(image)));
    const parts = [
      h('span', { class: 'name' }, h('i', { class: 'dot' }), h('span', {}, this.corrections.nameOf(k)), h('em', {}, one.is_new ? 'new' : 'known')),
      h(
        'span',
        { class: 'facts', title: one.stability !== null ? kStableMeans : '' },
        `${count(one.images)} images, ${percent(100 * one.confidence, 0)} sure`,
        one.stability !== null ? `, ${percent(100 * one.stability, 0)} stable` : '',
        one.compactness !== null ? `, compactness ${one.compactness.toFixed(2)}` : '',
      ),
      one.truth ? h('span', { class: 'facts' }, `in truth ${one.truth} (${percent(100 * one.truth_share, 0)})`) : null,
      ...corrected.map((words) => h('span', { class: 'mark' }, words)),
      most.length ? row('most typical', most) : h('span', { class: 'facts' }, 'no image'),
      least.length ? row('least typical', least) : null,
    ];
    entry.card.className = `card ${one.is_new ? 'new' : 'old'}`;
    entry.card.replaceChildren(...parts.filter((part) => part !== null));
  }

  /** A class with all its images; what is wrong can be said here. */
  open(k: number, highlight = -1): void {
    const { corrections } = this;
    const members = corrections.members[k]!;
    const title = h('h2', {});
    const nearest = h('p', {});
    const refreshes: (() => void)[] = [];
    const close = h('button', { class: 'close', type: 'button', 'aria-label': 'Close', click: () => dialog.close() }, '×');
    const images = highlight >= 0 ? [highlight, ...members.filter((image) => image !== highlight)] : members;
    const clicks = this.clicks();
    const likely = h('p', { class: 'likely', 'aria-live': 'polite' });
    let looked = images[0] ?? -1;
    const tellLikely = (image = looked) => {
      looked = image;
      const words = likelyWords(this.report, corrections, image);
      likely.replaceChildren(...(words ? [h('strong', {}, words), ` for ${this.report.images.path[image]}`] : []));
    };
    const dialog = h(
      'dialog',
      { class: 'class-dialog' },
      close,
      title,
      h('p', { class: 'note' }, members.length ? `${counted(members.length, 'image')}, the most typical first.` : 'There is no image of it, so there is nothing to correct.'),
      ...(members.length ? [this.wordsOnClass(k, refreshes)] : []),
      nearest,
      ...(members.length ? [clicks.element, likely] : []),
      pages(images, 200, (image) => {
        const { element, refresh } = imageButton(image, this.thumbnails, corrections, () => clicks.clicked(image));
        refreshes.push(refresh);
        for (const event of ['pointerenter', 'focus']) element.addEventListener(event, () => tellLikely(image));
        return element;
      }),
    );
    refreshes.push(() => {
      tellLikely();
      title.textContent = corrections.nameOf(k);
      dialog.setAttribute('aria-label', `Class ${corrections.nameOf(k)}`);
      const buttons = this.report.classes[k]!.nearest.map((other) =>
        h('button', { type: 'button', class: 'link', click: () => { dialog.close(); this.open(other.class); } }, `${corrections.nameOf(other.class)} (${other.cosine.toFixed(2)})`),
      );
      nearest.replaceChildren(...(buttons.length ? ['Nearest classes: ', ...buttons] : []));
    });
    const refresh = () => refreshes.forEach((one) => one());
    refresh();
    const stop = corrections.onChange(refresh);
    document.body.append(dialog);
    dialog.addEventListener('close', () => {
      stop();
      dialog.remove();
    });
    dialog.showModal();
  }

  /** Its name, what it is merged into, and whether it is accepted. */
  private wordsOnClass(k: number, refreshes: (() => void)[]): HTMLElement {
    const one = this.report.classes[k]!;
    const { corrections } = this;
    const name = h('input', { type: 'text', 'aria-label': 'Name of the class' });
    const into = h('select', { 'aria-label': 'Merge into' });
    const accept = h('button', { type: 'button' });
    const hint = h('p', { class: 'note' });
    const rename = () => {
      const target = name.value.trim();
      const before = corrections.ofClass('rename', one.name);
      if (target && target !== one.name) corrections.put([{ action: 'rename', path: '', class: one.name, target }]);
      else if (before) corrections.takeBack(before);
      name.value = corrections.nameOf(k);
    };
    const say = (action: 'merge' | 'accept', wanted: boolean, target = '') => {
      const before = corrections.ofClass(action, one.name);
      if (wanted) corrections.put([{ action, path: '', class: one.name, target }]);
      else if (before) corrections.takeBack(before);
    };
    into.addEventListener('change', () => say('merge', into.value !== '', into.value));
    accept.addEventListener('click', () => say('accept', !corrections.ofClass('accept', one.name)));
    let shown = '';
    refreshes.push(() => {
      const now = corrections.nameOf(k);
      if (now !== shown) name.value = shown = now; // what is being typed stays
      const others = this.report.classes.map((other, i) => ({ name: other.name, shown: corrections.nameOf(i) })).filter((other) => corrections.canMerge(one.name, other.name));
      into.replaceChildren(h('option', { value: '' }, 'merge into …'), ...others.map((other) => h('option', { value: other.name }, other.shown)));
      into.value = corrections.ofClass('merge', one.name)?.target ?? '';
      const accepted = !!corrections.ofClass('accept', one.name);
      accept.textContent = accepted ? 'Accepted ✓' : 'Accept as a class';
      accept.setAttribute('aria-pressed', String(accepted));
      const images = counted(corrections.typical(k).length, 'most typical image', 'most typical images');
      hint.textContent = `${accepted ? 'The next round takes' : 'Accepting it labels'} the ${images} of the class${accepted ? ' as labelled' : ' for the next round'}. A name or a merge alone labels nothing.`;
    });
    const form = h('form', { class: 'controls', submit: (event) => { event.preventDefault(); rename(); } }, name, h('button', { type: 'submit' }, 'Rename'), into, accept);
    return h('div', {}, form, hint);
  }

  /** What a click on an image says of it; a second one takes that back. */
  private clicks(): { element: HTMLElement; clicked: (image: number) => void } {
    const { corrections } = this;
    let action: 'wrong' | 'move' | 'accept' = 'wrong';
    const target = nameField();
    const missing = h('p', { class: 'problem', role: 'alert', hidden: true }, 'Which class? Name it first.');
    const option = (value: typeof action, label: string, ...more: Node[]) => {
      const radio = h('input', { type: 'radio', name: 'click', value, checked: value === action, change: () => (action = value) });
      if (value === 'move') target.addEventListener('input', () => { action = value; radio.checked = true; missing.hidden = true; });
      return h('span', {}, h('label', {}, radio, ` ${label}`), ...more);
    };
    const element = h(
      'fieldset',
      { class: 'clicks' },
      h('legend', {}, 'A click on an image says'),
      option('wrong', 'it is not of this class'),
      option('move', 'it is of ', target),
      option('accept', 'it is right here'),
      missing,
    );
    const clicked = (image: number) => {
      const before = corrections.ofImage(image);
      missing.hidden = action !== 'move' || target.value.trim() !== '';
      if (!missing.hidden) return target.focus();
      if (action !== 'move') return before?.action === action ? corrections.takeBack(before) : corrections.say(action, [image]);
      if (before?.action === 'move' && before.target === corrections.targetOf(target.value)) corrections.takeBack(before);
      else corrections.move([image], target.value);
    };
    return { element, clicked };
  }
}
