# A template of a Homebrew formula. deploy/homebrew/fill fills in the words in capitals after an at sign:
#
#   deploy/homebrew/fill 0.1.0 https://downloads.example/0.1.0 dist/checksums.txt >locklab.rb
class Locklab < Formula
  desc "Fault-injection test lab for distributed locks"
  homepage "@ADDRESS"
  version "@VERSION"
  license "MIT"

  on_macos do
    on_arm do
      url "@ADDRESS/locklab_@VERSION_darwin_arm64.tar.gz"
      sha256 "@SHA256_darwin_arm64"
    end
    on_intel do
      url "@ADDRESS/locklab_@VERSION_darwin_amd64.tar.gz"
      sha256 "@SHA256_darwin_amd64"
    end
  end
  on_linux do
    on_arm do
      url "@ADDRESS/locklab_@VERSION_linux_arm64.tar.gz"
      sha256 "@SHA256_linux_arm64"
    end
    on_intel do
      url "@ADDRESS/locklab_@VERSION_linux_amd64.tar.gz"
      sha256 "@SHA256_linux_amd64"
    end
  end

  def install
    bin.install "lab"
    generate_completions_from_executable(bin/"lab", "completion")
  end

  test do
    assert_match "lab #{version}+", shell_output("#{bin}/lab --version")
    system bin/"lab", "run", "take-turns", "--lock", "setpx-lua", "--world", "sim"
  end
end
