// The likeliest classes of an image, with their probabilities.
import type { Corrections } from './corrections';
import type { Report } from './data';

/** The most probable first; none where the run does not tell. */
export function likelyClasses(report: Report, image: number): { class: number; probability: number }[] {
  const { likely } = report;
  if (!likely || image < 0) return [];
  return Array.from({ length: likely.count }, (_, place) => ({
    class: likely.class[image * likely.count + place]!,
    probability: likely.probability[image * likely.count + place]!,
  }));
}

export const inPercent = (probability: number): string => (probability > 0 && probability < 0.01 ? 'below 1%' : `${Math.round(100 * probability)}%`);

/** "owl 62%, heron 30%, new-03 below 1%"; '' where the run does not tell. */
export function likelyWords(report: Report, corrections: Corrections, image: number): string {
  return likelyClasses(report, image).map((one) => `${corrections.nameOf(one.class)} ${inPercent(one.probability)}`).join(', ');
}
