// What to label next: one image at a time, with its likeliest classes to choose from. Answers are corrections like all others.
import type { Corrections } from './corrections';
import type { QueuedImage, Report } from './data';
import { counted, h, section } from './dom';
import { inPercent, likelyClasses } from './likely';
import { nameField } from './tiles';

export class Queue {
  readonly element: HTMLElement;
  private now = 0;
  private readonly skipped = new Set<number>(); // places in the queue, as are
  private readonly tiles: HTMLElement[]; // these
  private readonly picture = h('span', { class: 'picture', role: 'img' });
  private readonly why = h('p', { class: 'facts' });
  private readonly choices = h('div', { class: 'controls' });
  private readonly name = nameField();
  private readonly box: HTMLElement;
  private readonly state = h('p', { class: 'answered', role: 'status' });

  constructor(
    private readonly report: Report,
    private readonly corrections: Corrections,
  ) {
    this.name.setAttribute('aria-label', 'Class of the image');
    this.tiles = report.queue.map((one, place) => {
      const tile = h('button', { type: 'button', click: () => this.show(place) }, shown(one, h('span', { class: 'thumb' })), h('small', { class: 'word', 'aria-hidden': 'true' }));
      tile.classList.add('tile');
      return tile;
    });
    const other = h(
      'form',
      { class: 'controls', submit: (event) => { event.preventDefault(); this.answer(this.name.value); } },
      this.name,
      h('button', { type: 'submit' }, 'It is of this class'),
      h('button', { type: 'button', class: 'skip-image', title: 'S', click: () => this.skip() }, 'Skip'),
    );
    this.box = h('div', { class: 'asked', tabindex: 0, role: 'group' }, this.picture, h('div', {}, h('h3', {}, 'What is this?'), this.why, this.choices, other));
    this.box.addEventListener('keydown', (event) => this.key(event));
    this.element = section(
      'queue',
      'Label next',
      `The ${counted(report.queue.length, 'image')} whose labels would help the next round most: together they stand for most of what this run does not know. Click the image, then press 1, 2 or 3 for a class, S to skip. Answers are among the corrections.`,
      h('div', { class: 'tiles' }, ...this.tiles),
      this.box,
      this.state,
    );
    corrections.onChange(() => this.refresh());
    this.show(Math.max(0, this.nextOpen(-1)));
  }

  private get image(): number {
    return this.report.queue[this.now]!.image;
  }
  private isOpen(place: number): boolean {
    return !this.corrections.ofImage(this.report.queue[place]!.image) && !this.skipped.has(place);
  }
  /** The next one without an answer, round the end; -1: all have one. */
  private nextOpen(from: number): number {
    const places = this.tiles.map((_, i) => (from + 1 + i) % this.tiles.length);
    return places.find((place) => this.isOpen(place)) ?? -1;
  }

  private show(place: number): void {
    this.now = place;
    this.name.value = '';
    this.refresh();
  }
  private answer(name: string): void {
    if (!name.trim()) return this.name.focus();
    const own = this.report.classes[this.report.images.class[this.image]!]!.name;
    this.skipped.delete(this.now);
    if (this.corrections.targetOf(name) === own) this.corrections.say('accept', [this.image]);
    else this.corrections.move([this.image], name);
    this.goOn();
  }
  private skip(): void {
    this.skipped.add(this.now);
    this.goOn();
  }
  private goOn(): void {
    const next = this.nextOpen(this.now);
    this.show(next < 0 ? this.now : next);
    this.box.focus();
  }
  private key(event: KeyboardEvent): void {
    if (event.target === this.name || event.ctrlKey || event.metaKey || event.altKey) return;
    const choice = this.choices.children[Number(event.key) - 1];
    if (event.key.toLowerCase() === 's') this.skip();
    else if (choice instanceof HTMLElement) choice.click();
    else return;
    event.preventDefault();
  }

  private refresh(): void {
    const { corrections, report } = this;
    this.tiles.forEach((tile, place) => {
      const { image } = report.queue[place]!;
      const said = corrections.ofImage(image);
      const words = said ? corrections.inWords(said) : this.skipped.has(place) ? 'skipped' : 'not answered';
      tile.className = `tile ${said?.action ?? ''}`;
      tile.setAttribute('aria-pressed', String(place === this.now));
      tile.setAttribute('aria-label', `${place + 1}: ${report.images.path[image]}, ${words}`);
      tile.title = words;
      tile.querySelector('.word')!.textContent = !said ? (this.skipped.has(place) ? 'skipped' : '') : said.action === 'move' ? `→ ${corrections.shown(said.target)}` : said.action === 'accept' ? '✓' : '✗';
    });
    const one = report.queue[this.now]!;
    const path = report.images.path[one.image]!;
    shown(one, this.picture);
    this.picture.setAttribute('aria-label', path);
    this.picture.title = path;
    this.box.setAttribute('aria-label', `Image ${this.now + 1} of ${report.queue.length}: ${path}`);
    this.why.textContent = `${this.now + 1} of ${report.queue.length}: ${one.why}.`;
    const likely = likelyClasses(report, one.image);
    const offered = likely.length ? likely : [{ class: report.images.class[one.image]!, probability: report.images.confidence[one.image]! }];
    this.choices.replaceChildren(
      ...offered.map(({ class: k, probability }, i) =>
        h('button', { type: 'button', click: () => this.answer(corrections.nameOf(k)) }, h('kbd', {}, i + 1), ` ${corrections.nameOf(k)} `, h('small', {}, inPercent(probability))),
      ),
    );
    const open = this.tiles.filter((_, place) => this.isOpen(place)).length;
    const answered = report.queue.filter((queued) => corrections.ofImage(queued.image)).length;
    const skipped = this.tiles.length - open - answered;
    this.state.replaceChildren(
      `${answered} of ${this.tiles.length} answered${skipped ? `, ${skipped} skipped` : ''}.`,
      ...(open === 0 && answered > 0 ? [' ', h('a', { href: '#corrections' }, 'Download the corrections and go on with the next round')] : []),
    );
  }
}

/** The box with the picture in it; striped where there is none. */
function shown(one: QueuedImage, box: HTMLElement): HTMLElement {
  box.classList.toggle('none', !one.picture);
  box.style.backgroundImage = one.picture ? `url("data:image/jpeg;base64,${one.picture}")` : '';
  return box;
}
