// Elements from data. Text only ever enters as text: names of files and classes are anybody's.

type Child = Node | string | number | null | undefined | false;

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | number | boolean | ((event: Event) => void)> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false) element.setAttribute(name, String(value));
  }
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

export function section(id: string, title: string, note: string, ...children: Child[]): HTMLElement {
  return h(
    'section',
    { id, 'aria-labelledby': `${id}-title` },
    h('h2', { id: `${id}-title` }, title),
    note ? h('p', { class: 'note' }, note) : null,
    ...children,
  );
}

export const count = (value: number): string => value.toLocaleString('en-US');
export const counted = (value: number, one: string, many = `${one}s`): string => `${count(value)} ${value === 1 ? one : many}`;
export const percent = (value: number | null, digits = 1): string =>
  value === null || Number.isNaN(value) ? '–' : `${value.toFixed(digits)}%`;

export function duration(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${(minutes / 60).toFixed(1)} h`;
}

/** What an error says. */
export const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Many are shown at a time, more on request: thousands of elements at once would be slow. */
export function pages<T>(items: T[], size: number, show: (item: T) => Node, kind = 'tiles'): HTMLElement {
  const list = h('div', { class: kind, role: 'list' });
  let shown = 0;
  const more = h('button', { class: 'more', type: 'button', click: () => add() }, '');
  const box = h('div', {}, list, more);
  function add() {
    for (const item of items.slice(shown, shown + size)) list.append(show(item));
    shown = Math.min(items.length, shown + size);
    more.textContent = `Show more (${count(items.length - shown)} left)`;
    more.hidden = shown >= items.length;
  }
  add();
  return box;
}

/** Steps of an axis of things that are counted. */
export const kWholeNumbers = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

/** Work that would slow the opening waits until its place comes near the screen. */
export function whenNear(place: Element, work: () => void): void {
  const observer = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      work();
    },
    { rootMargin: '300px' },
  );
  observer.observe(place);
}

/** A list to choose from, with its label. */
export function choice(label: string, choices: [string, string][], change: (value: string) => void): HTMLElement {
  return h(
    'label',
    {},
    `${label} `,
    h('select', { change: (event) => change((event.target as HTMLSelectElement).value) }, ...choices.map(([value, text]) => h('option', { value }, text))),
  );
}
