// What the program writes into the page (report/report_data.cpp). Columns of images are arrays of equal length.

export interface ClassInfo {
  name: string;
  is_new: boolean;
  images: number;
  confidence: number;
  truth: string; // what most of its images really are; '' where unknown
  truth_share: number;
  compactness: number | null;
  stability: number | null; // how much of it other beginnings find again; null: there were none
  nearest: { class: number; cosine: number }[];
}

export interface Images {
  total: number; // of the run; the page shows fewer where these are very many
  path: string[];
  class: number[];
  confidence: number[];
  typicality: number[];
  outlier_score: number[];
  is_outlier: boolean[];
  truth: number[]; // into `truths`; -1: unknown
  thumbnail: number[]; // place in the sprites; -1: none
}

export interface Sprites {
  tile: number;
  columns: number;
  per_sheet: number;
  sheets: string[]; // JPEG files in base64
}

export interface FeatureMap {
  rows: number[]; // which images
  before: number[] | null; // x, y, x, y, ...
  after: number[];
  prototypes: number[]; // x, y of every class, in `after`
}

export interface Likely {
  count: number; // classes of each image, the most probable first
  class: number[]; // [images, count]
  probability: number[];
}

export interface QueuedImage {
  image: number;
  why: string;
  picture: string; // a JPEG file in base64; '' where it could not be read
}

export interface Attention {
  images: number[]; // which
  side: number; // pixels of a view
  heads: number;
  rows: number; // of a map
  columns: number;
  views: string; // one JPEG in base64, the views below each other
  before: string; // bytes in base64, [images, heads, rows, columns], 255 at a map's largest value
  after: string;
}

export interface Estimate {
  k: number;
  low: number;
  high: number;
  words: string;
  by: string; // what decided; '' where that is not known
  seconds: number;
  curve: { k: number; score: number }[];
}

export interface Epoch {
  epoch: number;
  loss: Record<string, number>;
  all: number | null;
  old: number | null;
  new: number | null;
}

export type Group = 'all' | 'old' | 'new';
/** The 95% interval of each accuracy, in percent; a group without images has none. */
export type Intervals = Partial<Record<Group, [number, number]>>;

export type Scores = Record<Group, number | null> & { intervals?: Intervals };

export interface EpochScores {
  epoch: number; // from 0
  unlabelled?: Scores; // where the truth is known
  test?: Scores;
}

/** Last and best epochs; the best are chosen by the truth. */
export interface ByEpoch {
  evaluated_epochs: number;
  last: EpochScores;
  best_on_unlabelled?: EpochScores;
  best_on_test?: EpochScores;
}

export interface Confusion {
  classes: string[];
  clusters: number[];
  counts: number[][];
}

export interface Findings {
  kinds: {
    kind: string;
    count: number;
    shown: {
      image: number; // into `images` below
      set: string;
      class: string; // the label it was given; '' where none
      other_class: string; // what it looks like, or the class of what it repeats
      repeats?: number; // into `images`
      score: number;
    }[];
  }[];
  unchecked: string[]; // why something was not looked for
  images: { path: string[]; link: string[]; thumbnail: number[]; sprites: Sprites };
}

export interface Report {
  title: string;
  version: string;
  run: {
    id: string; // of its predictions and configuration, wherever its folder lies
    folder: string; // absolute
  };
  summary: {
    labelled: number;
    unlabelled: number;
    test: number;
    skipped: number;
    k: number;
    k_old: number;
    k_new: number;
    outliers: number;
    outliers_in_words: string; // what they are, and how many chance alone would make
    suspect: string; // why the backbone may be to blame; empty where it is not
    confidence: string; // how far it is to be trusted; empty where nobody looked
    all: number | null;
    old: number | null;
    new: number | null;
    intervals: Intervals | null; // older runs do not tell
    seconds: number;
    epochs: number; // 0: nothing was trained
    next: string; // the command that a first look leads to; empty after training
    device: string;
  };
  estimate: Estimate | null;
  tuning: { words: string; seconds: number } | null; // settings that were tried before training
  classes: ClassInfo[];
  truths: string[];
  images: Images;
  sprites: Sprites;
  map: FeatureMap | null;
  attention: Attention | null;
  epochs: Epoch[];
  by_epoch: ByEpoch | null; // no truth, no training, or an older run
  confusion: Confusion | null;
  queue: QueuedImage[]; // what to label next, the most useful first
  likely: Likely | null; // older runs do not tell
  findings: Findings | null;
  skipped: { path: string; reason: string }[];
  config: string;
}

export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

export function readReport(): Report {
  const text = document.getElementById('data')?.textContent ?? '';
  return JSON.parse(text) as Report;
}
