# Reads a formula as Homebrew does, with the words that ours uses, and prints what it says and does.
require "json"
require "pathname"

class Formula
  FACTS = {}
  COMMANDS = []

  class << self
    %w[desc homepage version sha256 license].each { |name| define_method(name) { |value| FACTS[name] = value } }

    def url(address, using: nil) = FACTS["url"] = [address, using]
    def depends_on(name) = (FACTS["needs"] ||= []) << (name.is_a?(Hash) ? name.keys.first : name)
    def service(&block) = Service.new.instance_eval(&block)
    def test(&block) = define_method(:run_test, &block)
    def [](name) = Struct.new(:opt_bin).new(Pathname("/opt/#{name}/bin"))
    def opt_bin = Pathname("/opt/headwater/bin")
    def var = Pathname("/var")
  end

  class Service
    %w[run working_dir keep_alive log_path error_log_path].each do |name|
      define_method(name) { |value| (FACTS["service"] ||= {})[name] = value.is_a?(Array) ? value.map(&:to_s) : value.to_s }
    end

    def opt_bin = Formula.opt_bin
    def var = Formula.var
  end

  def libexec = Pathname("/cellar/libexec")
  def system(*words) = COMMANDS << words.map(&:to_s)
  def version = FACTS["version"]
  def shell_output(command) = "headwater #{FACTS["version"]}".tap { COMMANDS << command.split }
  def assert_match(expected, text) = text.include?(expected) || raise("#{text} lacks #{expected}")
  def bin = @bin ||= Pathname("/cellar/bin").tap { |path| path.define_singleton_method(:install_symlink) { |target| COMMANDS << ["link", target.to_s] } }
end

load ARGV.fetch(0)
formula = Headwater.new
formula.install
formula.run_test
puts JSON.generate(facts: Formula::FACTS, commands: Formula::COMMANDS)
