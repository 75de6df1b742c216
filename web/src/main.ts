import './trusted_types';
import 'uplot/dist/uPlot.min.css';
import './style.css';
import { attention } from './attention';
import { Classes } from './classes';
import { classColours } from './colours';
import { Corrections } from './corrections';
import { curves } from './curves';
import { readReport } from './data';
import { h } from './dom';
import { findings } from './findings';
import { map } from './map';
import { Panel } from './panel';
import { Queue } from './queue';
import { Storage } from './storage';
import { summary } from './summary';
import { configuration, confusion, outliers, skipped } from './tables';
import { Thumbnails } from './thumbnails';
import { listOfNames } from './tiles';

const report = readReport();
const thumbnails = new Thumbnails(report);
const corrections = new Corrections(report, new Storage(report.run.id));
const colours = classColours(report.classes);
document.title = `${report.title} – protogcd`;

const classes = new Classes(report, thumbnails, corrections, colours);
const panel = new Panel(report, corrections, thumbnails);
const openImage = (image: number) => classes.open(report.images.class[image]!, image);
const sections = [
  summary(report),
  classes.element,
  report.queue.length ? new Queue(report, corrections).element : null,
  map(report, corrections, thumbnails, colours, openImage),
  attention(report, corrections),
  outliers(report, corrections, thumbnails, openImage),
  findings(report),
  panel.element,
  confusion(report, corrections),
  curves(report),
  skipped(report),
  configuration(report),
].filter((one): one is HTMLElement => one !== null);

document.getElementById('top')!.append(
  h('h1', {}, report.title),
  h(
    'nav',
    { 'aria-label': 'Sections' },
    ...sections.map((one) => h('a', { href: `#${one.id}` }, one.querySelector('h2')?.textContent ?? '')),
    panel.buttons,
  ),
);
document.getElementById('content')!.append(...sections);
document.body.append(listOfNames(report.classes.length, corrections), panel.bar);
document.documentElement.dataset.ready = 'true';
