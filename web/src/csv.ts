// Comma-separated text (RFC 4180), read as the program does (core/csv.cpp).

export interface CsvRow {
  line: number; // 1-based, where the row starts
  fields: string[];
}

/** What a spreadsheet would run has an apostrophe before it, which reading takes away. */
const noFormula = (text: string): string => (/^'*[=+\-@\t\r]/.test(text) ? `'${text}` : text);
const asItWas = (field: string): string => field.replace(/^'(?='*[=+\-@\t\r])/, '');

export function csvLine(fields: string[]): string {
  return fields
    .map(noFormula)
    .map((text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text))
    .join(',');
}

/** All rows but empty lines. An error names the line of a broken quote. */
export function parseCsv(text: string): CsvRow[] {
  const rows: CsvRow[] = [];
  let at = text.startsWith('\ufeff') ? 1 : 0;
  let line = 1;
  const lineEnd = (): boolean => {
    const length = text.startsWith('\r\n', at) ? 2 : text[at] === '\n' ? 1 : 0;
    at += length;
    if (length) line++;
    return length > 0;
  };
  const fieldEnd = /,|\r?\n|$/g;
  const plain = (): string => {
    const start = at;
    fieldEnd.lastIndex = at;
    at = fieldEnd.exec(text)!.index;
    return text.slice(start, at);
  };
  const quoted = (): string => {
    const first = line;
    let field = '';
    for (at++; ; at++) {
      const quote = text.indexOf('"', at);
      if (quote < 0) throw new Error(`line ${first}: a quoted field is never closed`);
      field += text.slice(at, quote);
      line += text.slice(at, quote).split('\n').length - 1;
      at = quote + 1;
      if (text[at] !== '"') return field;
      field += '"';
    }
  };
  while (at < text.length) {
    if (lineEnd()) continue;
    const row: CsvRow = { line, fields: [] };
    do row.fields.push(asItWas(text[at] === '"' ? quoted() : plain()));
    while (text[at] === ',' && ++at);
    if (!lineEnd() && at < text.length) throw new Error(`line ${line}: text after a closing quote`);
    rows.push(row);
  }
  return rows;
}
