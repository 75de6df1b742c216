// Images that a person has a word on: how they are shown, and the field in which a class is named.
import type { Corrections } from './corrections';
import { h } from './dom';
import type { Thumbnails } from './thumbnails';

const kListOfNames = 'class-names';

/** The image as a button, which shows what was said of it. `refresh` has to be called when that may have changed. */
export function imageButton(image: number, thumbnails: Thumbnails, corrections: Corrections, click: () => void): { element: HTMLElement; refresh: () => void } {
  const picture = thumbnails.tile(image);
  const path = picture.title;
  const word = h('small', { class: 'word', 'aria-hidden': 'true' });
  const element = h('button', { class: 'tile', type: 'button', role: 'listitem', click }, picture, word);
  const refresh = () => {
    const one = corrections.ofImage(image);
    element.className = `tile ${one?.action ?? ''}`;
    element.setAttribute('aria-pressed', String(!!one));
    word.textContent = !one ? '' : one.action === 'move' ? `→ ${corrections.shown(one.target)}` : one.action === 'accept' ? '✓' : '✗';
    picture.title = one ? corrections.inWords(one) : path;
    picture.setAttribute('aria-label', picture.title);
  };
  refresh();
  return { element, refresh };
}

/** All classes by the names they have now, and what images were moved to, for fields in which one may also type a new one. */
export function listOfNames(classes: number, corrections: Corrections): HTMLElement {
  const list = h('datalist', { id: kListOfNames });
  const fill = () => {
    const names = Array.from({ length: classes }, (_, k) => corrections.nameOf(k));
    const targets = corrections.all().filter((one) => one.action === 'move').map((one) => corrections.shown(one.target));
    list.replaceChildren(...[...new Set([...names, ...targets])].map((value) => h('option', { value })));
  };
  corrections.onChange(fill);
  fill();
  return list;
}

export function nameField(): HTMLInputElement {
  return h('input', { type: 'text', list: kListOfNames, autocomplete: 'off', placeholder: 'a class, or a new name', 'aria-label': 'Class to move to' });
}
