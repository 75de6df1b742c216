// The command that goes on with the corrections.

/** As a word of a shell's command line; a leading ~/ stays the home folder. */
export function quoted(text: string): string {
  const home = text.startsWith('~/') ? '~/' : '';
  const rest = text.slice(home.length);
  return home + (/^[\w@%+=:,./-]+$/.test(rest) ? rest : `'${rest.replaceAll("'", "'\\''")}'`);
}

/** run-2 after run, run-3 after run-2. */
export function nextFolder(run: string): string {
  const numbered = /^(.*)-([2-9]|[1-9]\d)$/s.exec(run);
  return numbered ? `${numbered[1]}-${Number(numbered[2]) + 1}` : `${run}-2`;
}

/** Both verbs take every option from config.toml, so `discover` also goes on with what `train` began. */
export function nextCommand(run: string, corrections: string): string {
  return `protogcd discover --config ${quoted(`${run}/config.toml`)} --corrections ${quoted(corrections)} --previous ${quoted(run)} --out ${quoted(nextFolder(run))}`;
}
