// Puts the two native parts of the sidecar where its bundle looks for them.
//
//   prebuilds/<platform>.node   better-sqlite3's binding. Its loader, once bundled, looks in `../prebuilds`
//                               beside `dist`, so the folder is at the top and no code has to name a path.
//   dist/bin/rg                 ripgrep; `dist/bin` is asked first, then the package, then the PATH.
//
// npm installs ripgrep only for the platform it runs on, so a package is made on the platform it is for.
import { chmodSync, copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname ?? '.', '../..');
const platform = `${process.platform}-${process.arch}`;
const bindings = path.join(root, 'node_modules/better-sqlite3/prebuilds');
const rg = process.platform === 'win32' ? 'rg.exe' : 'rg';
const ripgrep = path.join(root, `node_modules/@vscode/ripgrep-${platform}/bin/${rg}`);

rmSync(path.join(root, 'prebuilds'), { recursive: true, force: true });
mkdirSync(path.join(root, 'prebuilds'), { recursive: true });
mkdirSync(path.join(root, 'dist/bin'), { recursive: true });
// A Linux package serves glibc and musl alike; the loader tells them apart.
for (const name of [platform, platform.replace('linux', 'linuxmusl')]) {
  const binding = path.join(bindings, `${name}.node`);
  if (existsSync(binding)) copyFileSync(binding, path.join(root, 'prebuilds', `${name}.node`));
}
if (existsSync(ripgrep)) {
  copyFileSync(ripgrep, path.join(root, 'dist/bin', rg));
  chmodSync(path.join(root, 'dist/bin', rg), 0o755);
}
