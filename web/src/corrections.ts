// What a person knows better: kept while the page is open, downloaded as a CSV for the next round.
import type { Report } from './data';

export type Action = 'rename' | 'merge' | 'wrong' | 'accept';

export interface Correction {
  action: Action;
  path: string;
  class: string;
  target: string;
}

function field(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export class Corrections {
  private readonly list: Correction[] = [];
  private readonly listeners: (() => void)[] = [];

  constructor(private readonly report: Report) {}

  get size(): number {
    return this.list.length;
  }
  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }
  all(): readonly Correction[] {
    return this.list;
  }

  /** A later word on the same thing replaces the earlier one. */
  add(correction: Correction): void {
    this.remove(correction.action, correction.class, correction.path);
    this.list.push(correction);
    this.listeners.forEach((listener) => listener());
  }
  remove(action: Action, name: string, path = ''): void {
    const at = this.list.findIndex((c) => c.action === action && c.class === name && c.path === path);
    if (at >= 0) this.list.splice(at, 1);
    this.listeners.forEach((listener) => listener());
  }
  find(action: Action, name: string, path = ''): Correction | undefined {
    return this.list.find((c) => c.action === action && c.class === name && c.path === path);
  }
  /** What the class is called now. */
  nameOf(index: number): string {
    const name = this.report.classes[index]?.name ?? '';
    return this.find('rename', name)?.target ?? name;
  }

  toCsv(): string {
    const rows = this.list.map((c) => [c.action, c.path, c.class, c.target].map(field).join(','));
    return `${['action,path,class,target', ...rows].join('\r\n')}\r\n`;
  }

  download(): void {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([this.toCsv()], { type: 'text/csv' }));
    link.download = 'corrections.csv';
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }
}
