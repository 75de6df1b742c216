// The corrections all together: what they amount to, undo, discard, files, and the way to the next round; and the bar at the
// bottom of the window that says what became of them.
import type { Correction, Corrections } from './corrections';
import type { Report } from './data';
import { count, counted, h, pages, reason, section } from './dom';
import { nextCommand } from './next_round';
import type { Thumbnails } from './thumbnails';

const kNamesTold = 8;
const kRowsAtOnce = 50;

export class Panel {
  readonly element: HTMLElement;
  /** For the page's head, where they are always at hand. */
  readonly buttons: HTMLElement;
  /** For the bottom of the window. */
  readonly bar = h('div', { class: 'bar', role: 'status' });

  private readonly outcome = h('p', { class: 'outcome' });
  private readonly problem = h('p', { class: 'problem', role: 'alert', hidden: true });
  private readonly list = h('div', {});
  private readonly next: HTMLElement;
  private readonly changedSince = h('p', { class: 'problem' }, 'There are changes since the download: download them again.');
  private readonly said = h('div', { class: 'said', hidden: true });
  private readonly trouble = h('p', { class: 'problem trouble', hidden: true });
  private readonly downloads: HTMLElement[];
  private readonly undos: HTMLButtonElement[];
  private readonly discard = h('button', { type: 'button', click: () => this.discardAll() }, 'Discard all');

  constructor(
    private readonly report: Report,
    private readonly corrections: Corrections,
    private readonly thumbnails: Thumbnails,
  ) {
    const download = () => h('button', { class: 'download', type: 'button', click: () => this.download() });
    const undo = () => h('button', { class: 'undo', type: 'button', title: 'Ctrl-Z', click: () => this.undo() }, 'Undo');
    this.downloads = [download(), download()];
    this.undos = [undo(), undo()];
    this.buttons = h('span', { class: 'at-hand' }, this.downloads[0], this.undos[0]);
    this.next = this.nextRound();
    this.bar.append(this.said, this.trouble);
    const file = h('input', { type: 'file', accept: '.csv,text/csv', hidden: true, change: () => void this.importFile(file) });
    this.element = section(
      'corrections',
      'Corrections',
      'A name or a merge alone labels nothing. The next round learns from labels: accept a class, which labels the more typical half of its images; accept images; or move them to the class that they are of.',
      this.outcome,
      h('div', { class: 'controls' }, this.downloads[1], this.undos[1], this.discard, h('button', { type: 'button', click: () => file.click() }, 'Import a file …'), file),
      this.problem,
      this.next,
      this.list,
    );
    corrections.onChange(() => this.refresh());
    document.addEventListener('keydown', (event) => this.key(event));
    addEventListener('beforeunload', (event) => {
      if (corrections.storage.trouble && corrections.size && !corrections.downloaded) event.preventDefault();
    });
    this.refresh();
    this.greet();
  }

  private greet(): void {
    const { corrections } = this;
    if (corrections.unreadable) this.say('What this browser had kept for this run could not be read.');
    if (corrections.size === 0) return;
    this.say(
      `${counted(corrections.size, 'correction')} from before, kept in this browser.`,
      h('a', { href: '#corrections' }, 'Show'),
      h('button', { type: 'button', click: () => this.undo() }, 'Undo'),
      h('button', { type: 'button', click: () => this.discardAll() }, 'Discard all'),
    );
  }

  private say(text: string, ...actions: Node[]): void {
    const close = h('button', { class: 'close', type: 'button', 'aria-label': 'Close', click: () => (this.said.hidden = true) }, '×');
    this.said.replaceChildren(h('span', {}, text), ...actions, close);
    this.said.hidden = false;
  }

  private key(event: KeyboardEvent): void {
    if (event.key.toLowerCase() !== 'z' || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
    // In a field of text it undoes what was typed.
    if (event.target instanceof HTMLInputElement && ['text', 'search'].includes(event.target.type)) return;
    event.preventDefault();
    this.undo();
  }
  private undo(): void {
    if (this.corrections.canUndo) this.say(`Undone: ${this.corrections.undo()}.`);
  }
  private discardAll(): void {
    const { corrections } = this;
    if (!confirm(`Discard ${counted(corrections.size, 'correction')}? This cannot be undone.`)) return;
    corrections.discardAll();
    this.next.hidden = true;
    this.say('All corrections are discarded.');
  }
  private download(): void {
    this.next.hidden = false;
    this.corrections.download();
    this.next.scrollIntoView({ block: 'nearest' });
  }
  private async importFile(input: HTMLInputElement): Promise<void> {
    const file = input.files?.[0];
    if (!file) return;
    this.problem.hidden = true;
    try {
      const rows = this.corrections.importCsv(await file.text());
      this.say(`${counted(rows, 'correction')} of ${file.name} taken over.`);
    } catch (error) {
      this.problem.textContent = `${file.name}, ${reason(error)}. Nothing was taken over.`;
      this.problem.hidden = false;
    }
    input.value = ''; // the same file can be chosen again
  }

  private nextRound(): HTMLElement {
    const command = h('pre', { class: 'command', tabindex: 0 });
    const path = h('input', { type: 'text', value: '~/Downloads/corrections.csv', 'aria-label': 'Where the file is', input: () => fill() });
    // Lines break before options, where there is room.
    const fill = () => command.replaceChildren(...nextCommand(this.report.run.folder, path.value).match(/.+?(?: (?=--)|$)/gs)!.map((part) => h('span', {}, part)));
    fill();
    const copy = h('button', { type: 'button', click: () => void copyText() }, 'Copy');
    const copyText = async () => {
      try {
        await navigator.clipboard.writeText(command.textContent ?? '');
        copy.textContent = 'Copied';
      } catch {
        getSelection()?.selectAllChildren(command);
        copy.textContent = 'Selected: press Ctrl-C';
      }
    };
    return h(
      'div',
      { class: 'next', hidden: true },
      h('h3', {}, 'The next round'),
      h('p', {}, 'The browser has put corrections.csv into its download folder; a second one of that name may be called “corrections (1).csv”. Go on with the command below.'),
      this.changedSince,
      h('label', {}, 'The file is ', path),
      command,
      copy,
    );
  }

  private refresh(): void {
    const { corrections } = this;
    const { size } = corrections;
    for (const button of this.downloads) {
      button.textContent = `Download ${counted(size, 'correction')}`;
      button.hidden = size === 0;
    }
    this.undos[0]!.hidden = !corrections.canUndo;
    this.undos[1]!.disabled = !corrections.canUndo;
    this.discard.disabled = size === 0;
    this.changedSince.hidden = corrections.downloaded;
    const { trouble } = corrections.storage;
    this.trouble.hidden = !trouble;
    this.trouble.textContent = `This browser does not keep corrections (${trouble}). Download them before you close or reload the page.`;
    this.outcome.textContent = this.inWords();
    this.list.replaceChildren(size ? pages(corrections.all().reverse(), kRowsAtOnce, (one) => this.row(one), 'rows') : '');
  }
  private inWords(): string {
    const { corrections } = this;
    if (corrections.size === 0) return 'There are none yet. They are made in the dialog of a class, or on images that are chosen on the map, and are kept in this browser.';
    const labels = [...corrections.labels()].sort((a, b) => b[1] - a[1]);
    const images = labels.reduce((sum, [, n]) => sum + n, 0);
    const told = `${counted(corrections.size, 'correction')}. They label `;
    if (images === 0) return `${told}no image yet.`;
    const names = labels.slice(0, kNamesTold).map(([name, n]) => `${count(n)} as ${name}`);
    if (labels.length > kNamesTold) names.push(`others as ${counted(labels.length - kNamesTold, 'further class', 'further classes')}`);
    return `${told}${counted(images, 'image')} for the next round: ${names.join(', ')}.`;
  }
  private row(one: Correction): HTMLElement {
    const image = this.corrections.imageOf(one);
    const words = this.corrections.inWords(one);
    const takeBack = () => {
      this.corrections.takeBack(one);
      this.undos[1]!.focus();
    };
    return h(
      'div',
      { class: 'row', role: 'listitem' },
      image === undefined ? null : this.thumbnails.tile(image, 0.5),
      h('span', {}, words),
      h('button', { type: 'button', 'aria-label': `Take back: ${words}`, click: takeBack }, 'Take back'),
    );
  }
}
