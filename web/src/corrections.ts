// What a person knows better: kept by the browser for this run, downloaded as a CSV for the next round.
import { csvLine, parseCsv } from './csv';
import type { Report } from './data';
import { count } from './dom';
import type { Storage } from './storage';

const kActions = ['rename', 'merge', 'wrong', 'accept', 'move'] as const;
const kColumns = ['action', 'path', 'class', 'target'] as const;
export type Action = (typeof kActions)[number];

export interface Correction {
  action: Action;
  path: string; // '': of the whole class
  class: string; // as the run calls it
  target: string;
}

/** What one act of a person changed: it is undone as one. */
interface Step {
  put: Correction[];
  take: string[]; // subjects
}

/** What a correction is about. A later word on it replaces the earlier one; of an image there is one word in all. */
const subject = (one: Correction): string => (one.path ? `image ${one.path}` : `${one.action} ${one.class}`);

/** A name as a field of one line holds it. */
const inOneLine = (name: string): string => name.replace(/[\r\n]/g, '').trim();

function apply(current: Map<string, Correction>, step: Step): void {
  for (const key of step.take) current.delete(key);
  for (const one of step.put) {
    current.delete(subject(one)); // the latest stands last
    current.set(subject(one), one);
  }
}

export class Corrections {
  private steps: Step[] = [];
  private current = new Map<string, Correction>();
  private readonly listeners = new Set<() => void>();
  private readonly numbers: Map<string, number>; // of classes, by name
  private readonly images: Map<string, number>; // by path
  /** The images of each class, the most typical first. */
  readonly members: number[][];
  /** Whether all there is was downloaded. */
  downloaded = false;
  /** Whether something was kept that does not fit this run. */
  unreadable = false;

  constructor(
    private readonly report: Report,
    readonly storage: Storage,
  ) {
    this.numbers = new Map(report.classes.map((one, k) => [one.name, k]));
    this.images = new Map(report.images.path.map((path, image) => [path, image]));
    this.members = report.classes.map(() => []);
    report.images.class.forEach((k, image) => this.members[k]?.push(image));
    const { typicality } = report.images;
    for (const list of this.members) list.sort((a, b) => typicality[b]! - typicality[a]!);
    this.restore();
    storage.onOtherTab(() => {
      this.restore();
      this.tell();
    });
  }

  get size(): number {
    return this.current.size;
  }
  get canUndo(): boolean {
    return this.steps.length > 0;
  }
  all(): Correction[] {
    return [...this.current.values()];
  }
  ofClass(action: Action, name: string): Correction | undefined {
    return this.current.get(`${action} ${name}`);
  }
  ofImage(image: number): Correction | undefined {
    return this.current.get(`image ${this.report.images.path[image]}`);
  }
  imageOf(one: Correction): number | undefined {
    return this.images.get(one.path);
  }
  /** Returns how to stop listening. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  put(list: Correction[]): void {
    const news = list.filter((one) => {
      const before = this.current.get(subject(one));
      return before?.action !== one.action || before.target !== one.target;
    });
    if (news.length) this.add({ put: news, take: [] });
  }
  takeBack(one: Correction): void {
    this.add({ put: [], take: [subject(one)] });
  }
  /** One word on some images, each with the class that it was predicted as. */
  say(action: 'wrong' | 'accept', images: number[]): void {
    this.put(images.map((image) => this.ofOneImage(action, image, '')));
  }
  /** Moves images to what a person calls a class, and returns how many: those that were predicted as it stay. */
  move(images: number[], name: string): number {
    const target = this.targetOf(name);
    const own = this.numbers.get(target);
    const [stay, go] = [[] as number[], [] as number[]];
    for (const image of images) (this.report.images.class[image] === own ? stay : go).push(image);
    const step: Step = {
      put: go.map((image) => this.ofOneImage('move', image, target)),
      take: stay.map((image) => this.ofImage(image)).filter((one) => one?.action === 'move' || one?.action === 'wrong').map((one) => subject(one!)),
    };
    if (step.put.length || step.take.length) this.add(step);
    return go.length;
  }

  /** Takes the last step back and says what it was. */
  undo(): string {
    const step = this.steps.pop();
    if (!step) return '';
    const words = step.put.length === 1 ? this.inWords(step.put[0]!) : step.put.length ? `${count(step.put.length)} corrections` : 'what was taken back is there again';
    this.replay();
    this.changed();
    return words;
  }
  discardAll(): void {
    this.steps = [];
    this.replay();
    this.changed();
  }

  /** What the class is called now. */
  nameOf(k: number): string {
    const name = this.report.classes[k]?.name ?? '';
    return this.ofClass('rename', name)?.target ?? name;
  }
  /** What a class of the run is called now; other names stand for themselves. */
  shown(name: string): string {
    const k = this.numbers.get(name);
    return k === undefined ? name : this.nameOf(k);
  }
  /** Where images of a class go in the end, by merging; null: in a circle. */
  private mergedInto(name: string, current = this.current): string | null {
    const seen = new Set<string>();
    for (let merge; (merge = current.get(`merge ${name}`)); name = merge.target) {
      if (seen.has(name)) return null;
      seen.add(name);
    }
    return name;
  }
  /** Whether that would not close a circle. */
  canMerge(name: string, target: string): boolean {
    for (let merge; target !== name; target = merge.target) {
      merge = this.ofClass('merge', target);
      if (!merge) return true;
    }
    return false;
  }

  /** The images that accepting a class labels: at or above its median typicality (run/corrections.cpp), but for those of which a person said otherwise. */
  typical(k: number): number[] {
    const list = this.members[k]!;
    const { typicality } = this.report.images;
    const least = typicality[list[list.length - 1 - Math.floor(list.length / 2)]!]!;
    return list.filter((image) => typicality[image]! >= least && !['wrong', 'move'].includes(this.ofImage(image)?.action ?? ''));
  }
  /** How many images the next round would label, by the name they get. */
  labels(): Map<string, number> {
    const names = new Map<number, string>();
    const final = (name: string) => this.shown(this.mergedInto(name) ?? name);
    for (const one of this.current.values()) {
      if (one.action === 'move') names.set(this.images.get(one.path)!, final(one.target));
      if (one.action !== 'accept') continue;
      const images = one.path ? [this.images.get(one.path)!] : this.typical(this.numbers.get(one.class)!);
      for (const image of images) names.set(image, final(one.class));
    }
    const counts = new Map<string, number>();
    for (const name of names.values()) counts.set(name, (counts.get(name) ?? 0) + 1);
    return counts;
  }

  inWords(one: Correction): string {
    const name = this.shown(one.class);
    if (one.action === 'rename') return `${one.class} is called ${one.target}`;
    if (one.action === 'merge') return `${name} is merged into ${this.shown(one.target)}`;
    if (one.action === 'wrong') return `${one.path} is not of ${name}`;
    if (one.action === 'move') return `${one.path} is moved from ${name} to ${this.shown(one.target)}`;
    return one.path ? `${one.path} is accepted as ${name}` : `${name} is accepted as a class`;
  }

  toCsv(): string {
    const rows = this.all().map((one) => csvLine(kColumns.map((column) => one[column])));
    return `${[kColumns.join(','), ...rows].join('\r\n')}\r\n`;
  }
  download(): void {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([this.toCsv()], { type: 'text/csv' }));
    link.download = 'corrections.csv';
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    this.downloaded = true;
    this.tell();
  }
  /** Takes a file's rows over and returns how many; an error names the line that does not fit, and nothing is changed. */
  importCsv(text: string): number {
    const [head, ...rows] = parseCsv(text);
    const columns = kColumns.map((column) => head?.fields.indexOf(column) ?? -1);
    if (columns.includes(-1)) throw new Error(`line 1: the columns must be ${kColumns.join(',')}`);
    const put: Correction[] = [];
    const lines = new Map<string, number>();
    const refusal = (line: number) => (why: string): never => {
      throw new Error(`line ${line}: ${why}`);
    };
    for (const { line, fields } of rows) {
      const refuse = refusal(line);
      if (fields.length !== head!.fields.length) refuse(`${fields.length} fields, but the header has ${head!.fields.length}`);
      const [action, path, name, target] = columns.map((at) => fields[at]!) as [Action, string, string, string];
      const one = this.fitting({ action, path, class: name, target }, refuse);
      const before = lines.get(subject(one));
      if (before !== undefined) refuse(`line ${before} is about the same ${path ? 'image' : 'class'}`);
      lines.set(subject(one), line);
      put.push(one);
    }
    const next = new Map(this.current);
    apply(next, { put, take: [] });
    for (const one of put) {
      if (one.action === 'merge' && this.mergedInto(one.class, next) === null) refusal(lines.get(subject(one))!)(`class '${one.class}' is merged in a circle`);
    }
    this.put(put);
    return put.length;
  }

  /** The class of the run that is meant by what a person typed, by its name now or before; or a new name. */
  targetOf(text: string): string {
    const wanted = inOneLine(text);
    const { classes } = this.report;
    const now = classes.find((_, k) => inOneLine(this.nameOf(k)) === wanted);
    return (now ?? classes.find((one) => inOneLine(one.name) === wanted))?.name ?? wanted;
  }
  private ofOneImage(action: Action, image: number, target: string): Correction {
    const { path } = this.report.images;
    return { action, path: path[image]!, class: this.report.classes[this.report.images.class[image]!]!.name, target };
  }

  /** The correction as it is kept; `refuse` is told why it does not fit this run, and must throw. */
  private fitting(one: Correction, refuse: (why: string) => never): Correction {
    const k = this.numbers.get(one.class);
    const image = this.images.get(one.path);
    const ofImage = one.action === 'wrong' || one.action === 'move' || (one.action === 'accept' && one.path !== '');
    const target = one.action === 'merge' ? one.target : one.target.trim();
    if (!kActions.includes(one.action)) refuse(`action '${one.action}' is not ${kActions.join(', ')}`);
    if (k === undefined || this.members[k]!.length === 0) refuse(`the run has no images of class '${one.class}'`);
    if (ofImage && image === undefined) refuse(`the run has no image '${one.path}'`);
    if (ofImage && this.report.images.class[image!] !== k) refuse(`the run did not find image '${one.path}' to be of class '${one.class}'`);
    if (!ofImage && one.path) refuse(`${one.action} is about a class: the path must be empty`);
    if (['rename', 'merge', 'move'].includes(one.action) && !target) refuse(`${one.action} needs a target`);
    if (one.action === 'merge' && !this.numbers.has(target)) refuse(`the run has no class '${target}' to merge into`);
    return { action: one.action, path: one.path, class: one.class, target: ['wrong', 'accept'].includes(one.action) ? '' : target };
  }

  private add(step: Step): void {
    this.steps.push(step);
    apply(this.current, step);
    this.changed();
  }
  private replay(): void {
    this.current = new Map();
    for (const step of this.steps) apply(this.current, step);
  }
  private changed(): void {
    this.downloaded = false;
    this.storage.write(this.steps.length ? JSON.stringify(this.steps) : null);
    this.tell();
  }
  private tell(): void {
    for (const listener of [...this.listeners]) listener();
  }
  private restore(): void {
    this.steps = [];
    const refuse = (why: string): never => {
      throw new Error(why);
    };
    try {
      const steps = JSON.parse(this.storage.read() ?? '[]') as Step[];
      this.steps = steps.map(({ put, take }) => ({ put: put.map((one) => this.fitting(one, refuse)), take: take.map(String) }));
    } catch {
      this.unreadable = true;
    }
    this.replay();
  }
}
