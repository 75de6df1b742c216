// Old classes in cool colours, new ones in warm ones, spread over the hues of their kind.
import type { ClassInfo } from './data';

function hex(hue: number, saturation: number, lightness: number): string {
  const a = saturation * Math.min(lightness, 1 - lightness);
  const channel = (n: number) => {
    const k = (n + hue / 30) % 12;
    const value = lightness - a * Math.max(-1, Math.min(k - 3, 9 - k, 1));
    return Math.round(255 * value)
      .toString(16)
      .padStart(2, '0');
  };
  return `#${channel(0)}${channel(8)}${channel(4)}`;
}

export function classColours(classes: ClassInfo[]): string[] {
  const counts = { old: 0, fresh: 0 };
  const totals = { old: 0, fresh: 0 };
  for (const one of classes) totals[one.is_new ? 'fresh' : 'old']++;
  return classes.map((one) => {
    const kind = one.is_new ? 'fresh' : 'old';
    const i = counts[kind]++;
    const share = totals[kind] > 1 ? i / (totals[kind] - 1) : 0.5;
    // Neighbours in the list differ in lightness too.
    const lightness = [0.45, 0.6, 0.52][i % 3] ?? 0.5;
    return one.is_new ? hex((330 + 100 * share) % 360, 0.75, lightness) : hex(155 + 120 * share, 0.6, lightness);
  });
}

/** From calm to alarming, for numbers in 0..1. */
export const scale: string[] = Array.from({ length: 64 }, (_, i) => {
  const t = i / 63;
  return hex(220 - 215 * t, 0.55 + 0.3 * t, 0.62 - 0.12 * t);
});
