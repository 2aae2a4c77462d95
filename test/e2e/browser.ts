// Finds Chromium on this machine, or installs it where that is one command (Debian as root, as CI machines
// are), or says in one line what to do. Playwright brings the driver only; no browser is downloaded.
import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import path from 'node:path';
import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';
import { withLock } from './lock.ts';

const usualPlaces = [
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
  'C:\\Program Files (x86)\\Google\\Chrome\\Application\\chrome.exe',
  'C:\\Program Files (x86)\\Microsoft\\Edge\\Application\\msedge.exe',
];

export async function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: await findChromium(),
    headless: true,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--disable-dev-shm-usage',
      // Nothing outside this machine is ever looked up, so a test cannot come to depend on it.
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
    ],
  });
}

async function findChromium(): Promise<string> {
  return withLock('chromium', async () => {
    const found = present();
    if (found !== undefined) return found;
    if (canInstall()) {
      const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
      const apt = (args: string[]): void => {
        execFileSync('apt-get', args, { env, stdio: 'ignore', windowsHide: true });
      };
      apt(['update', '-qq']);
      apt(['install', '-y', '--no-install-recommends', 'chromium', 'fonts-dejavu-core']);
      const installed = present();
      if (installed !== undefined) return installed;
    }
    throw new Error(
      'No Chromium or Chrome found. Install one, or set CHROMIUM to the path of its executable.',
    );
  });
}

function present(): string | undefined {
  const named = process.env['CHROMIUM'];
  if (named !== undefined && named !== '') return named;
  return (
    ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'].map(onPath).find(Boolean) ??
    usualPlaces.find(existsSync)
  );
}

export function onPath(command: string): string | undefined {
  const endings = process.platform === 'win32' ? ['.exe', '.cmd', ''] : [''];
  return (process.env['PATH'] ?? '')
    .split(path.delimiter)
    .flatMap((folder) => endings.map((ending) => path.join(folder, command + ending)))
    .find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function canInstall(): boolean {
  return process.platform === 'linux' && process.getuid?.() === 0 && onPath('apt-get') !== undefined;
}
