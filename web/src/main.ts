import 'uplot/dist/uPlot.min.css';
import './style.css';
import { attention } from './attention';
import { Classes } from './classes';
import { classColours } from './colours';
import { Corrections } from './corrections';
import { curves } from './curves';
import { readReport } from './data';
import { count, h } from './dom';
import { map } from './map';
import { summary } from './summary';
import { configuration, confusion, outliers, skipped } from './tables';
import { Thumbnails } from './thumbnails';

const report = readReport();
const thumbnails = new Thumbnails(report);
const corrections = new Corrections(report);
const colours = classColours(report.classes);
document.title = `${report.title} – protogcd`;

const classes = new Classes(report, thumbnails, corrections, colours);
const openImage = (image: number) => classes.open(report.images.class[image]!, image);
const sections = [
  summary(report),
  classes.element,
  map(report, thumbnails, colours, openImage),
  attention(report),
  outliers(report, thumbnails, openImage),
  confusion(report),
  curves(report),
  skipped(report),
  configuration(report),
].filter((one): one is HTMLElement => one !== null);

const download = h('button', { class: 'download', type: 'button', hidden: true, click: () => corrections.download() }, '');
corrections.onChange(() => {
  download.hidden = corrections.size === 0;
  download.textContent = `Download ${count(corrections.size)} correction${corrections.size === 1 ? '' : 's'}`;
});
document.getElementById('top')!.append(
  h('h1', {}, report.title),
  h(
    'nav',
    { 'aria-label': 'Sections' },
    ...sections.map((one) => h('a', { href: `#${one.id}` }, one.querySelector('h2')?.textContent ?? '')),
    download,
  ),
);
document.getElementById('content')!.append(...sections);
document.documentElement.dataset.ready = 'true';
