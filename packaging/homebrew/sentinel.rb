# SPDX-License-Identifier: Apache-2.0

# A formula for a tap: set url and sha256 to those of the release.
class Sentinel < Formula
  desc "Monitors and repairs the machine it runs on, for people and MCP clients"
  homepage "https://example.com/sentinel"
  url "https://example.com/sentinel/sentinel-0.1.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "Apache-2.0"

  depends_on "go" => :build

  def install
    ENV["CGO_ENABLED"] = "0"
    %w[sentinel sentinel-mcp sentinel-guard].each do |program|
      system "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin/program, "./cmd/#{program}"
    end
    man1.install Dir["docs/man/*.1"]
    generate_completions_from_executable(bin/"sentinel", "--completion")
    generate_completions_from_executable(bin/"sentinel-mcp", "--completion")
    generate_completions_from_executable(bin/"sentinel-guard", "completion")
  end

  def caveats
    <<~TEXT
      What Homebrew installs can be written by its user and never runs as root.
      Reading works at once. To change the system, install the root-owned programs
      and their rules as well, from the source of this release:

        make build && sudo make install

      sentinel-mcp then runs the sentinel that root has installed by itself.
      To connect a client: sentinel-mcp --install claude-desktop

      Servers that clients start through sentinel-guard do not start without it.
      Before you uninstall: sentinel-guard unwrap --all
    TEXT
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/sentinel --version")
    assert_match version.to_s, shell_output("#{bin}/sentinel-mcp --version")
    assert_match version.to_s, shell_output("#{bin}/sentinel-guard --version")
  end
end
