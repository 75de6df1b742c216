// One text that the browser keeps for a run. Reading and writing fail where storage is forbidden or full.
import { reason } from './dom';

export class Storage {
  /** Why nothing is kept; '' while all is well. */
  trouble = '';
  private readonly key: string;

  /** Pages that are opened from disk share one storage in some browsers: the key tells runs apart. */
  constructor(run: string) {
    this.key = `protogcd corrections ${run}`;
  }

  read(): string | null {
    try {
      return localStorage.getItem(this.key);
    } catch (error) {
      this.trouble = reason(error);
      return null;
    }
  }

  write(text: string | null): void {
    try {
      if (text === null) localStorage.removeItem(this.key);
      else localStorage.setItem(this.key, text);
      this.trouble = '';
    } catch (error) {
      this.trouble = reason(error);
    }
  }

  /** Calls back when another tab has written. */
  onOtherTab(changed: () => void): void {
    addEventListener('storage', (event) => {
      if (event.key === this.key || event.key === null) changed();
    });
  }
}
