// What the page's policy (page.html) lets become code. Text that is set as HTML anywhere is refused by browsers that know trusted
// types, whoever sets it. The map's library compiles shader bindings (`Function`) and starts workers of its own text; that is all.
interface Policies {
  createPolicy(name: string, rules: Record<string, (text: string) => string>): unknown;
}

(globalThis as { trustedTypes?: Policies }).trustedTypes?.createPolicy('default', {
  createScript: (text) => text,
  createScriptURL: (url) => {
    if (!url.startsWith('blob:')) throw new TypeError(`not a script of this page: ${url}`);
    return url;
  },
});
